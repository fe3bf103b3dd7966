// Executables to files and back.
#include "codegen/host.h"
#include "ir/format.h"
#include "ir/target_text.h"
#include "runtime/executable_impl.h"
#include "runtime/package.h"
#include "runtime/worker.h"

#include <algorithm>
#include <chrono>
#include <mutex>

FUSE_BEGIN_NAMESPACE

std::vector<std::string> ExecutableImpl::targets() const {
  std::vector<std::string> names = {machine_.target.name};
  for (const auto &other : others_) names.push_back(other->machine_.target.name);
  return names;
}

/// The variants with their code.
Section ExecutableImpl::section() const {
  std::vector<std::shared_ptr<const Variant>> variants = variants_.variants();
  std::vector<StoredVariant> stored(variants.size());
  run_on_workers(stored.size(), 0, [&](std::size_t i) {
    stored[i] = {variants[i]->arguments(), variants[i]->program(), variants[i]->code(1)};
  });
  Section section;
  section.target = machine_.target;
  section.kind = machine_.code;
  if (section.kind == CodeKind::Host) section.cpu = host_cpu();
  section.has_general = general_ != nullptr;
  section.variants = encode(stored);
  return section;
}

std::string ExecutableImpl::serialize() const {
  Package package{interface_, options_, source_.text ? source_.text() : "", {section()}};
  for (const auto &other : others_) package.sections.push_back(other->section());
  for (const Section &s : package.sections) {
    try {
      parse_target(to_string(s.target), s.target.name);
    } catch (const Error &e) {
      fail(ErrorCode::InvalidArgument, "a target cannot be serialized: {}", e.what());
    }
  }
  return encode(package);
}

FUSE_END_NAMESPACE

namespace fuse {

namespace {

/// "h200 (sm_90)", "host code of the CPU x86-64-v4 ...".
std::string describe(const Section &section) {
  if (section.kind == CodeKind::Gpu)
    return fmt::format("{} (sm_{})", section.target.name, section.target.sm);
  return fmt::format("the host's {}", section.cpu.substr(0, section.cpu.find(' ')));
}

[[noreturn]] void fail_absent(const Package &package, const std::string &wanted,
                              const std::string &remedy) {
  std::string there;
  for (const Section &s : package.sections)
    append(there, "{}{}", there.empty() ? "" : ", ", describe(s));
  fail(ErrorCode::Unsupported, "{}: the file has code for {} and none for {}: {}",
       package.interface.name, there, wanted, remedy);
}

/// Whether code for one machine runs on the other.
bool serves(const Target &code, const Target &device) {
  return code.sm == device.sm && code.shared_per_block <= device.shared_per_block &&
         code.max_cluster <= device.max_cluster && code.parameter_bytes <= device.parameter_bytes;
}

const Section &section_for_gpu(const Package &package, const DeserializeOptions &options) {
  Target device = target_of(options.device);
  const Section *found = nullptr;
  for (const Section &s : package.sections) {
    if (s.kind != CodeKind::Gpu || s.target.sm != device.sm) continue;
    bool is_named = s.target.name == (options.target.empty() ? device.name : options.target);
    if (is_named) return s;
    if (!found && options.target.empty() && serves(s.target, device)) found = &s;
  }
  if (found) return *found;
  std::string wanted = fmt::format("{} (sm_{})", device.name, device.sm);
  if (!options.target.empty()) wanted = fmt::format("'{}' on {}", options.target, wanted);
  fail_absent(package, wanted, "name it in CompileOptions::targets and serialize again");
}

const Section &section_for_host(const Package &package, const DeserializeOptions &options) {
  std::string cpu = host_cpu();
  for (const Section &s : package.sections)
    if (s.kind == CodeKind::Host && s.cpu == cpu &&
        (options.target.empty() || options.target == s.target.name))
      return s;
  fail_absent(package, fmt::format("the host's {}", cpu.substr(0, cpu.find(' '))),
              "serialize on this machine with Target::named(\"host\") in CompileOptions::targets");
}

const Section &first_section(const Package &package, const DeserializeOptions &options) {
  for (const Section &s : package.sections)
    if (options.target.empty() || options.target == s.target.name) return s;
  fail_absent(package, "'" + options.target + "'", "name one that is there");
}

const Section &choose(const Package &package, const DeserializeOptions &options,
                      Executor executor) {
  switch (executor) {
    case Executor::Gpu: return section_for_gpu(package, options);
    case Executor::Host: return section_for_host(package, options);
    case Executor::None:
    case Executor::Auto: break;
  }
  return first_section(package, options);
}

/// The graph is read when it is first needed.
Source source_of(std::string text, const Target &target) {
  if (text.empty())
    return Source([](const LowerOptions &) -> Lowered {
      fail(ErrorCode::Unsupported, "the file has no code for these sizes and no graph");
    });
  struct Late {
    std::mutex mutex;
    std::optional<Source> source;
  };
  auto road = [text, target, late = std::make_shared<Late>()](const LowerOptions &options) {
    std::unique_lock lock(late->mutex);
    if (!late->source) late->source = source_of(std::make_shared<const Graph>(parse(text)), target);
    Lower lower = late->source->lower;
    lock.unlock();
    return lower(options);
  };
  return {std::move(road), [text] { return text; }};
}

/// PTX of a later version than the driver's can only be run where it was assembled before.
void check_ptx(const Section &section, const StoredVariant &variant) {
  int known = ptx_version_of(driver().version);
  auto is_assembled = [&](const GpuCode &code) {
    return code.find(section.target.sm, driver().version) != nullptr;
  };
  if (section.target.ptx <= known || std::ranges::all_of(variant.code.gpu, is_assembled)) return;
  fail(ErrorCode::Unsupported,
       "the code for {} is PTX {}.{} and this driver takes {}.{}: update the driver, or serialize "
       "for Target::named(\"{}\")",
       section.target.name, section.target.ptx / 10, section.target.ptx % 10, known / 10,
       known % 10, section.target.name);
}

/// What launches take for granted; without an executor nothing is launched.
void check_code(const Section &section, const Machine &machine, const StoredVariant &variant) {
  bool is_host = machine.code == CodeKind::Host;
  std::size_t there = is_host ? variant.code.host.size() : variant.code.gpu.size();
  bool is_there = there == variant.program.kernels.size() &&
                  std::ranges::none_of(variant.code.gpu, &std::string::empty, &GpuCode::ptx);
  if (machine.executor != Executor::None && !is_there)
    fail(ErrorCode::Parse, "the serialized executable lacks code of its kernels");
  if (machine.executor == Executor::Gpu) check_ptx(section, variant);
}

Stored restore(const Package &package, const Section &section, const Machine &machine) {
  Stored stored;
  stored.has_general = section.has_general;
  auto begin = std::chrono::steady_clock::now();
  for (StoredVariant &v : decode_variants(section.variants, package.interface)) {
    check_code(section, machine, v);
    int kernels = static_cast<int>(v.program.kernels.size());
    stored.variants.push_back(std::make_shared<const Variant>(
        std::move(v.program), std::move(v.arguments), machine, std::move(v.code)));
    auto end = std::chrono::steady_clock::now();
    std::chrono::duration<double, std::milli> time = end - std::exchange(begin, end);
    stored.how.push_back({"deserialized", kernels, time.count()});
  }
  return stored;
}

}  // namespace

Executable make_executable(Package package, const DeserializeOptions &options) {
  Executor executor = resolve(options.executor);
  const Section &section = choose(package, options, executor);
  Machine machine{section.target, executor, section.kind};
  Stored stored = restore(package, section, machine);
  CompileOptions compiled = package.options;
  compiled.executor = executor;
  compiled.device = options.device;
  compiled.no_recompile |= options.no_recompile;
  compiled.allocator = options.allocator;
  return Executable(std::make_shared<ExecutableImpl>(package.interface,
                                                     source_of(package.graph, section.target),
                                                     compiled, machine, std::move(stored)));
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

Executable deserialize(std::string_view bytes, const DeserializeOptions &options) {
  return make_executable(decode_package(bytes), options);
}

FUSE_END_NAMESPACE
