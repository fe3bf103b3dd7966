// Arguments, compilation and times of the programs that tuning tries.
#include "runtime/tune_device.h"

#include "ir/format.h"
#include "ir/log.h"
#include "ir/program_text.h"
#include "ir/target_text.h"
#include "ir/tensor.h"
#include "runtime/bound.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"
#include "runtime/fill.h"
#include "runtime/gpu_timer.h"
#include "runtime/worker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace fuse {

namespace {

using namespace cuda;

constexpr int kRuns = 9;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Values that are neither zero nor large, and positions among `rows`: what takes exceptional
/// paths, and gathers that read few rows, would tell nothing of usual launches.
Tensor usual_values(DType dtype, std::int64_t elements, std::int64_t rows) {
  constexpr std::int64_t kMost = 1 << 16;
  std::mt19937_64 random(7);
  std::vector<double> values(
      static_cast<std::size_t>(std::clamp<std::int64_t>(elements, 1, kMost)));
  double limit = dtype == DType::Bool ? 2 : size_of(dtype) == 1 ? 127 : static_cast<double>(rows);
  for (double &v : values) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    v = is_float(dtype) ? 0.25 + unit : std::floor(limit * unit);
  }
  return {dtype, {static_cast<std::int64_t>(values.size())}, values};
}

/// The longest leading extent: what positions most likely number.
std::int64_t rows_of(const std::vector<Argument> &inputs, const Bindings &sizes) {
  std::int64_t rows = 1;
  for (const Argument &a : inputs)
    if (std::vector<std::int64_t> extents = evaluate(a.shape, sizes); extents.size() > 1)
      rows = std::max(rows, extents[0]);
  return rows;
}

class DeviceCase {
 public:
  explicit DeviceCase(const TuneCase &launches)
      : case_(launches),
        context_(context_of(nullptr, launches.device)),
        scope_(context_.handle),
        timer_(launches.device, kRuns) {}

  std::vector<double> measure(std::vector<Program> programs) {
    std::vector<std::shared_ptr<const Variant>> variants(programs.size());
    run_on_workers(programs.size(), 0, [&](std::size_t i) { variants[i] = load(programs[i]); });
    ContextScope scope(context_.handle);
    std::vector<double> us;
    for (const auto &variant : variants) us.push_back(variant ? time(variant) : kNever);
    return us;
  }

 private:
  TuneCase case_;
  Context context_;
  ContextScope scope_;
  GpuTimer timer_;

  /// Null for a program that these sizes, or the driver, refuse.
  std::shared_ptr<const Variant> load(Program &program) const {
    if (broken_limit(program, case_.sizes)) return nullptr;
    try {
      for (const Kernel &k : program.kernels) verify(k);
      auto variant = std::make_shared<const Variant>(Lowered(std::move(program)), case_.arguments,
                                                     case_.machine);
      variant->prepare(1);
      ContextScope scope(context_.handle);
      variant->functions(context_, 1);
      return variant;
    } catch (const Error &e) {
      log(LogLevel::Debug, "tuning: {}", e.what());
      return nullptr;
    }
  }

  double time(const std::shared_ptr<const Variant> &variant) const {
    try {
      BoundLaunch launch(variant, case_.sizes, context_, {});
      Arguments arguments(variant->program(), case_.sizes);
      WorkspaceSize size = launch.workspace_size();
      DeviceBuffer workspace = DeviceBuffer::device(
          static_cast<std::size_t>(std::max(kWorkspaceAlignment, size.total())), case_.device);
      fill_bytes(place_of(workspace), 0);
      auto *memory = static_cast<char *>(workspace.data());
      return timer_.median_us([&] {
        launch.run(nullptr, arguments.addresses.data(), {memory, memory + size.counter_bytes}, {},
                   {});
      });
    } catch (const Error &e) {
      log(LogLevel::Debug, "tuning: {}", e.what());
      return kNever;
    }
  }

  /// Memory for the arguments that the steps use; the others have no address.
  struct Arguments {
    std::vector<DeviceBuffer> buffers;
    std::vector<Tensor> scalars;
    std::vector<const void *> addresses;
    std::int64_t rows;

    Arguments(const Program &program, const Bindings &sizes)
        : addresses(program.inputs.size() + program.outputs.size()),
          rows(rows_of(program.inputs, sizes)) {
      scalars.reserve(program.inputs.size());
      for (const Step &step : program.steps)
        for (const Binding &b : step.bindings) {
          if (b.kind == Binding::Kind::Workspace) continue;
          bool is_input = b.kind == Binding::Kind::Input;
          std::size_t at = is_input ? b.index : program.inputs.size() + b.index;
          if (addresses[at]) continue;
          addresses[at] = add(is_input ? program.inputs[b.index] : program.outputs[b.index], sizes);
        }
    }

    const void *add(const Argument &argument, const Bindings &sizes) {
      if (argument.is_scalar)
        return scalars.emplace_back(usual_values(argument.dtype, 1, 64)).bytes.data();
      std::int64_t elements = elements_spanned(argument, sizes);
      Tensor values = usual_values(argument.dtype, elements, rows);
      DeviceBuffer buffer = DeviceBuffer::device(
          static_cast<std::size_t>(std::max<std::int64_t>(1, elements)) * size_of(argument.dtype));
      fill_with(place_of(buffer), values);
      return buffers.emplace_back(std::move(buffer)).data();
    }

    static std::int64_t elements_spanned(const Argument &argument, const Bindings &sizes) {
      std::vector<std::int64_t> extents = evaluate(argument.shape, sizes);
      if (!argument.strided) return count_elements(extents);
      std::int64_t last = 0;
      for (std::size_t d = 0; d < extents.size(); ++d) {
        std::int64_t stride = sizes.at(fmt::format("{}.stride{}", argument.name, d));
        if (stride < 0)
          fail(ErrorCode::Unsupported, "{} runs backwards: tuning does not", argument.name);
        last += std::max<std::int64_t>(0, extents[d] - 1) * stride;
      }
      return last + 1;
    }
  };
};

/// Everything that the outcome depends on but the day's luck.
std::string tuning_key(const Program &by_rule, const TuneCase &launches) {
  char name[256] = {};
  FUSE_CUDA(cuDeviceGetName, name, sizeof name, launches.device);
  std::string key =
      fmt::format("tuning {} on {} driver {}\n", library_build(), name, driver().version);
  for (const auto &[symbol, size] : launches.sizes) append(key, "{}={} ", symbol, size);
  return key + to_string(launches.machine.target) + to_string(by_rule);
}

}  // namespace

MeasurePrograms measure_on_device(const TuneCase &launches) {
  auto device = std::make_shared<DeviceCase>(launches);
  return [device](std::vector<Program> programs) { return device->measure(std::move(programs)); };
}

std::vector<TunedKernel> tune_cached(const Program &by_rule, const ScheduleTuned &schedule,
                                     const TuneCase &launches) {
  DiskCache &cache = DiskCache::process();
  std::string key = tuning_key(by_rule, launches);
  if (std::optional<std::string> text = cache.load(key))
    if (std::vector<TunedKernel> kernels = parse_tuned_kernels(*text); !kernels.empty())
      return kernels;
  std::vector<TunedKernel> kernels = tune(schedule, measure_on_device(launches));
  cache.store(key, to_string(kernels));
  return kernels;
}

}  // namespace fuse
