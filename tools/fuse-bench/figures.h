// From times of probes to the figures of a Target.
#pragma once

#include "probes.h"

#include <map>
#include <string>
#include <vector>

namespace fuse::bench {

/// How long a probe took, and the SM clock right behind it.
struct Sample {
  Probe probe;
  double seconds = 0;
  double clock_hz = 0;
};

/// Microseconds of one kernel that does nothing.
struct LaunchTimes {
  double busy = 0;      // from one to the next in a stream that is never empty
  double replayed = 0;  // likewise, in a graph
  double host = 0;      // of the host: cuLaunchKernel
};

struct Calibration {
  std::vector<Sample> samples;
  double driver_copy = 0;  // bytes per second of its device-to-device copy
  LaunchTimes launch;
  std::map<int, int> usable_sms;  // by cluster size
};

/// A measured figure beside the one that the target has.
struct Figure {
  std::string name;  // of a field of Target, or of nothing that the cost model knows
  double measured = 0;
  double built_in = 0;    // 0: there is none
  bool is_field = false;  // of Target
  std::string what;       // in words

  double difference() const { return built_in > 0 ? measured / built_in - 1 : 0; }
};

/// Instructions of threads per SM and clock.
double rate_of(const Sample &sample, const Target &target);

/// Figures of the target first, then others. What was not measured is not there.
std::vector<Figure> figures_of(const Calibration &calibration, const Target &target);

/// The target with its measured figures as --target of fuse-opt reads it, what was built in and the
/// difference beside each; other figures and the head as comments. Lines of the head end with \n.
std::string target_text(const std::vector<Figure> &figures, const Target &target,
                        std::string_view head);

}  // namespace fuse::bench
