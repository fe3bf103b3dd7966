// The inverse of the cost model: what it would need to predict the probes.
#include "figures.h"

#include "ir/target_text.h"
#include "text.h"

#include <algorithm>

namespace fuse::bench {

namespace {

constexpr double kPhases = 3, kBarriers = kPhases - 1;  // of a row: it is loaded, and reduced twice

class Deriver {
 public:
  Deriver(const Calibration &calibration, const Target &target)
      : calibration_(calibration), target_(target) {}

  std::vector<Figure> run() {
    clock();
    memory();
    add_field("launch_seconds", 1e-6 * calibration_.launch.busy, target_.launch_seconds,
              "a kernel in a busy stream after another");
    rates();
    waits();
    others();
    return std::move(figures_);
  }

 private:
  const Sample *find(std::string_view name) const {
    for (const Sample &s : calibration_.samples)
      if (s.probe.name == name && s.seconds > 0) return &s;
    return nullptr;
  }

  void add(std::string name, double measured, double built_in, std::string what) {
    if (measured > 0) figures_.push_back({std::move(name), measured, built_in, false, what});
  }

  void add_field(const char *name, double measured, double built_in, const char *what) {
    figures_.push_back({name, measured, built_in, true, what});
    if (measured <= 0) figures_.pop_back();
  }

  void clock() {
    std::vector<double> clocks;
    for (const Sample &s : calibration_.samples)
      if (s.probe.kind == Probe::Kind::Pipe && s.clock_hz > 0) clocks.push_back(s.clock_hz);
    if (clocks.empty()) return;
    auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::nth_element(clocks.begin(), middle, clocks.end());
    add_field("clock_hz", *middle, target_.clock_hz, "median behind the probes of pipes");
  }

  double bytes_per_second(std::string_view name) const {
    const Sample *s = find(name);
    return s ? s->probe.amount / s->seconds : 0;
  }

  void memory() {
    add_field("hbm_bytes", bytes_per_second("copy"), target_.hbm_bytes, "copy, read and written");
    add_field("l2_bytes", bytes_per_second("l2"), target_.l2_bytes, "read");
  }

  void rate(const char *probe, const char *field, double built_in, double unit) {
    if (const Sample *s = find(probe))
      add_field(field, rate_of(*s, target_) / unit, built_in, s->probe.what.c_str());
  }

  void rates() {
    rate("fma", "fma_per_clock", target_.fma_per_clock, 1);
    rate("f64", "f64_per_clock", target_.f64_per_clock, 1);
    rate("integer", "int_per_clock", target_.int_per_clock, 1);
    rate("exp2", "mufu_per_clock", target_.mufu_per_clock, 1);
    rate("shared", "lsu_per_clock", target_.lsu_per_clock, 1);
    rate("issue", "issue_per_clock", target_.issue_per_clock, 32);
  }

  /// What a row takes beyond its part of the copy bandwidth; less than 0 where there is no probe.
  double off_pipe(std::string_view name) const {
    const Sample *s = find(name);
    double copy = bytes_per_second("copy");
    if (!s || copy <= 0) return -1;
    return s->seconds / s->probe.amount - s->probe.row_bytes * target_.num_sms / copy;
  }

  void waits() {
    double small = off_pipe("row_128"), large = off_pipe("row_1024");
    if (small <= 0) return;
    double per_thread = large > 0 ? std::max(0.0, large - small) / (kBarriers * (1024 - 128)) : 0;
    add_field("block_latency_seconds", (small - kBarriers * per_thread * 128) / kPhases,
              target_.block_latency_seconds, "a third of a row's, off the memory pipe");
    add_field("barrier_seconds", 1000 * per_thread, target_.barrier_seconds,
              "rows of 1,024 threads against those of 128");
    double cluster = off_pipe("row_cluster_4");
    if (cluster > small)
      add_field("cluster_seconds", (cluster - small) / kBarriers, target_.cluster_seconds,
                "half of what a cluster of 4 adds to a row");
  }

  void others() {
    add("driver_copy_bytes", calibration_.driver_copy, 0, "bytes per second of the driver's copy");
    add("read_bytes", bytes_per_second("read"), 0, "bytes per second of device memory, read only");
    add("write_bytes", bytes_per_second("write"), 0, "likewise, written only");
    for (const char *name : {"multiply", "tanh", "sigmoid", "floor", "to_int", "from_int", "bf16"})
      if (const Sample *s = find(name))
        add(name, rate_of(*s, target_), 0, "per SM and clock: " + s->probe.what);
    for (const Sample &s : calibration_.samples)
      if (s.probe.kind == Probe::Kind::Rows)
        add(s.probe.name, off_pipe(s.probe.name), model_of(s.probe),
            "seconds of a row off the memory pipe");
    add("replay_seconds", 1e-6 * calibration_.launch.replayed, 0, "a kernel of a graph");
    add("host_seconds", 1e-6 * calibration_.launch.host, 0, "of the host for cuLaunchKernel");
    for (auto [cluster, sms] : calibration_.usable_sms)
      add(formatted("usable_sms({})", cluster), sms, target_.usable_sms(cluster),
          formatted("SMs that clusters of {} reach", cluster));
  }

  double model_of(const Probe &row) const {
    double per_barrier = target_.barrier_seconds * row.threads / 1000 +
                         (row.cluster > 1 ? target_.cluster_seconds : 0);
    return kPhases * target_.block_latency_seconds + kBarriers * per_barrier;
  }

  const Calibration &calibration_;
  const Target &target_;
  std::vector<Figure> figures_;
};

std::string beside(const Figure &f) {
  if (f.built_in <= 0) return f.is_field ? "built in 0; " + f.what : f.what;
  return formatted("built in {:.4g}, {:+.1f} %; {}", f.built_in, 100 * f.difference(), f.what);
}

std::string line_of(const Figure &f) {
  return formatted("{:<38} // {}\n", formatted("{} = {:.4g}", f.name, f.measured), beside(f));
}

}  // namespace

double rate_of(const Sample &sample, const Target &target) {
  return sample.probe.amount / (sample.seconds * sample.clock_hz * target.num_sms);
}

std::vector<Figure> figures_of(const Calibration &calibration, const Target &target) {
  return Deriver(calibration, target).run();
}

std::string target_text(const std::vector<Figure> &figures, const Target &target,
                        std::string_view head) {
  Target measured = target;
  measured.measured = true;
  std::string all = to_string(measured), text(head);
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = all.find('\n', at) + 1;
    std::string line = all.substr(at, end - at), name = line.substr(0, line.find(' '));
    auto is_it = [&](const Figure &f) { return f.is_field && f.name == name; };
    auto figure = std::find_if(figures.begin(), figures.end(), is_it);
    text += figure == figures.end() ? line : line_of(*figure);
    at = end;
  }
  text += "\n// Not figures of a target:\n";
  for (const Figure &f : figures)
    if (!f.is_field) text += "// " + line_of(f);
  return text;
}

}  // namespace fuse::bench
