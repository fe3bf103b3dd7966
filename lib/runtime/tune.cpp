// Steepest descent over tunings, one kernel at a time.
#include "runtime/tune.h"

#include "ir/format.h"
#include "ir/log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace fuse {

namespace {

constexpr double kLeastShare = 0.01;  // of the predicted time
constexpr double kLeastGain = 0.01;   // measurements scatter by less
constexpr int kMaxSteps = 6;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::string_view kTotals = "_totals";  // the first kernel of a scan over blocks

bool is_part_of(std::string_view name, std::string_view planned) {
  return name == planned || (name.starts_with(planned) && name.substr(planned.size()) == kTotals);
}

std::string planned_name(std::string_view name) {
  return std::string(name.ends_with(kTotals) ? name.substr(0, name.size() - kTotals.size()) : name);
}

std::string text_of(const Program &program) {
  std::string text;
  for (const Kernel &k : program.kernels) text += to_string(k);
  return text;
}

class Search {
 public:
  Search(const ScheduleTuned &schedule, const MeasurePrograms &measure, std::string kernel)
      : schedule_(schedule), measure_(measure), kernel_(std::move(kernel)) {}

  TunedKernel run(const Program &by_rule) {
    Candidate best{{}, steps_of_kernel(by_rule, kernel_)};
    seen_.insert(text_of(best.program));
    best.us = measure_({best.program})[0];
    double rule_us = best.us;
    if (std::isfinite(rule_us))
      for (int step = 0; step < kMaxSteps && improve(best); ++step) {
      }
    return {kernel_, best.tuning, best.us, rule_us, static_cast<int>(seen_.size())};
  }

 private:
  struct Candidate {
    Tuning tuning;
    Program program;
    double us = kNever;
  };

  const ScheduleTuned &schedule_;
  const MeasurePrograms &measure_;
  std::string kernel_;
  std::set<std::string> seen_;

  /// Neighbours that make other kernels than all before.
  std::vector<Candidate> candidates(const Candidate &from) {
    std::vector<Candidate> all;
    for (const Tuning &tuning : neighbours(from.tuning, resident_blocks(from.program.kernels[0]))) {
      Program program;
      try {
        program = steps_of_kernel(schedule_({{kernel_, tuning}}), kernel_);
      } catch (const Error &e) {
        log(LogLevel::Debug, "tuning {}: {}: {}", kernel_, to_string(tuning), e.what());
        continue;
      }
      if (seen_.insert(text_of(program)).second) all.push_back({tuning, std::move(program)});
    }
    return all;
  }

  /// What the kernel asks for, else what the threads of an SM allow.
  static int resident_blocks(const Kernel &kernel) {
    constexpr int kThreadsPerSm = 2048;
    return kernel.resident > 0 ? kernel.resident : kThreadsPerSm / kernel.threads;
  }

  bool improve(Candidate &best) {
    std::vector<Candidate> all = candidates(best);
    if (all.empty()) return false;
    std::vector<Program> programs;
    for (const Candidate &c : all) programs.push_back(c.program);
    std::vector<double> us = measure_(std::move(programs));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].us = us[i];
      log(LogLevel::Debug, "tuning {}: {:.1f} us with {}", kernel_, us[i],
          to_string(all[i].tuning));
    }
    auto fastest = std::min_element(
        all.begin(), all.end(), [](const Candidate &a, const Candidate &b) { return a.us < b.us; });
    if (fastest->us >= best.us * (1 - kLeastGain)) return false;
    best = std::move(*fastest);
    return true;
  }
};

/// Planned kernels worth their tuning.
std::vector<std::string> kernels_to_tune(const Program &program) {
  double total = 0;
  std::map<std::string, double> seconds;
  for (const PlannedKernel &k : program.plan.kernels) {
    seconds[planned_name(k.name)] += k.seconds;
    total += k.seconds;
  }
  std::vector<std::string> names;
  for (const Kernel &k : program.kernels) {
    std::string name = planned_name(k.name);
    bool is_known = std::find(names.begin(), names.end(), name) != names.end();
    if (k.instances == 0 && !is_known && seconds[name] >= kLeastShare * total)
      names.push_back(name);
  }
  return names;
}

}  // namespace

Program steps_of_kernel(const Program &program, const std::string &kernel) {
  Program part;
  part.name = program.name;
  part.inputs = program.inputs;
  part.outputs = program.outputs;
  part.symbols = program.symbols;
  part.workspace = program.workspace;
  part.limits = program.limits;
  for (const Step &step : program.steps) {
    if (step.is_extern || !is_part_of(program.kernels[step.kernel].name, kernel)) continue;
    part.steps.push_back(step);
    part.steps.back().kernel = part.kernels.size();
    part.kernels.push_back(program.kernels[step.kernel]);
  }
  FUSE_CHECK(!part.kernels.empty(), "{} has no kernel {}", program.name, kernel);
  return part;
}

std::vector<TunedKernel> tune(const ScheduleTuned &schedule, const MeasurePrograms &measure) {
  Program by_rule = schedule({});
  std::map<std::string, TunedKernel> of_text;  // kernels that differ in names alone
  std::vector<TunedKernel> tuned;
  for (const std::string &name : kernels_to_tune(by_rule)) {
    Program part = steps_of_kernel(by_rule, name);
    for (Kernel &k : part.kernels) k.name.clear();
    auto [it, is_new] = of_text.try_emplace(text_of(part));
    if (is_new) it->second = Search(schedule, measure, name).run(by_rule);
    tuned.push_back(it->second);
    tuned.back().name = name;
  }
  return tuned;
}

Tunings tunings_of(const std::vector<TunedKernel> &kernels) {
  Tunings tunings;
  for (const TunedKernel &k : kernels)
    if (k.tuning != Tuning()) tunings[k.name] = k.tuning;
  return tunings;
}

void add_decisions(const std::vector<TunedKernel> &kernels, Plan &plan) {
  for (const TunedKernel &k : kernels) {
    bool by_rule = k.tuning == Tuning();
    Decision d;
    d.about = "mapping of " + k.name;
    d.chosen = by_rule ? "by rule" : "tuned: " + to_string(k.tuning);
    d.why = fmt::format("{:.1f} us measured, the fastest of {}", k.us, k.tried);
    if (!by_rule) {
      d.rejected = fmt::format("by rule, {:.1f} us measured", k.rule_us);
      d.gain_seconds = 1e-6 * (k.rule_us - k.us);
    }
    plan.decisions.push_back(std::move(d));
  }
}

std::string to_string(const std::vector<TunedKernel> &kernels) {
  std::string text;
  for (const TunedKernel &k : kernels)
    append(text, "{} {:.3f} {:.3f} {} {}\n", k.name, k.us, k.rule_us, k.tried, to_string(k.tuning));
  return text;
}

std::vector<TunedKernel> parse_tuned_kernels(const std::string &text) {
  std::vector<TunedKernel> kernels;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    TunedKernel k;
    std::string tuning;
    if (!(words >> k.name >> k.us >> k.rule_us >> k.tried)) return {};
    std::getline(words, tuning);
    try {
      k.tuning = parse_tuning(tuning);
    } catch (const Error &) {
      return {};
    }
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace fuse
