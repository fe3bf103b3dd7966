// What an Executable shares between its copies.
#pragma once

#include "runtime/arguments.h"
#include "runtime/bound.h"
#include "runtime/in_place.h"
#include "runtime/package.h"
#include "runtime/plan_cache.h"
#include "runtime/sizes.h"
#include "runtime/tune.h"
#include "runtime/variant_set.h"

#include <array>
#include <atomic>

namespace fuse {

/// Makes the program for a class of arguments and expected sizes. Called from several threads at
/// once.
using Lower = std::function<Lowered(const LowerOptions &options)>;

/// Plans once, for any tunings.
using PlanTuned = std::function<ScheduleTuned(const LowerOptions &options)>;

/// Where programs come from.
struct Source {
  template <class F, class = std::enable_if_t<std::is_invocable_v<F, const LowerOptions &>>>
  Source(F from, std::function<std::string()> graph = {}, PlanTuned tuned = {})
      : lower(std::move(from)), text(std::move(graph)), plan(std::move(tuned)) {}

  Lower lower;
  std::function<std::string()> text;  // of the graph, for files; empty: there is none
  PlanTuned plan;                     // empty: mappings are fixed
};

/// The pipeline for a target; `graph` must not change any more.
Source source_of(std::shared_ptr<const Graph> graph, const Target &target);

/// An Executable over any source of programs; compile() gives it the pipeline, tests give it
/// programs made by hand.
Executable make_executable(Interface interface, Source source, const CompileOptions &options);

/// The Executable of a package that was read.
Executable make_executable(Package package, const DeserializeOptions &options);

/// What runs kernels where `wanted` is asked for. Throws NoDevice for Gpu without a driver.
Executor resolve(Executor wanted);

/// Variants that were compiled before: the first one and, if `has_general`, that for all sizes,
/// then others.
struct Stored {
  std::vector<std::shared_ptr<const Variant>> variants;
  std::vector<Compilation> how;
  bool has_general = false;
};

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

class ExecutableImpl {
 public:
  ExecutableImpl(Interface interface, Source source, const CompileOptions &options,
                 const Machine &machine, Stored stored = {});

  /// The same for a machine that serialize() writes code for.
  void add_target(std::shared_ptr<const ExecutableImpl> other);

  void launch(CUstream_st *stream, const Arg *arguments, std::size_t count,
              const LaunchOptions &options) const;
  std::shared_ptr<const BoundLaunch> bind(const Dims &dims, const BindOptions &options) const;
  void run(const BoundLaunch &bound, CUstream_st *stream, const void *const *arguments,
           const LaunchOptions &options, const StepObserver &observer = {}) const;

  /// The variant of the sizes bound to them, for reports; no context, so it cannot run. Compiles it
  /// where there is none.
  std::shared_ptr<const BoundLaunch> inspect(const Dims &dims) const;

  std::vector<Compilation> prepare(const std::vector<Dims> &sizes,
                                   const PrepareOptions &options) const;
  std::string serialize() const;
  std::vector<std::string> targets() const;

  const Interface &interface() const { return interface_; }
  const SizeSolver &solver() const { return solver_; }
  const Machine &machine() const { return machine_; }
  const Target &target() const { return machine_.target; }
  Executor executor() const { return machine_.executor; }
  const Variant &first_variant() const { return *first_; }
  int device() const { return options_.device; }
  std::vector<Compilation> compilations() const { return variants_.compilations(); }

  std::size_t num_arguments() const { return interface_.inputs.size() + interface_.outputs.size(); }
  const Argument &argument(std::size_t i) const {
    std::size_t n = interface_.inputs.size();
    return i < n ? interface_.inputs[i] : interface_.outputs[i - n];
  }

 private:
  static constexpr std::size_t kSlots = 64;

  /// What the planner is asked for by a launch, and all sizes that kernels may take.
  struct Demand {
    VariantClass arguments;
    Bindings sizes, all;
  };

  void compile_first();
  void restore(Stored stored);
  void load_first() const;
  std::vector<SharedMemory> resolve_in_place() const;

  std::shared_ptr<const Variant> build(const VariantClass &arguments, const Bindings &sizes) const;
  LowerOptions lowering_of(const VariantClass &arguments) const;
  Lowered lower(const LowerOptions &options) const;
  Lowered lower_for(const VariantClass &arguments, const Bindings &sizes,
                    LowerOptions &options) const;
  Lowered lower_tuned(const VariantClass &arguments, const Bindings &sizes) const;
  Lowered lower_for_all_sizes() const;
  bool refine(Bindings &expected, const std::vector<std::string> &symbols,
              const Bindings &sizes) const;
  VariantClass general_class() const;
  std::shared_ptr<const Variant> variant_of(const VariantClass &arguments,
                                            const Bindings &sizes) const;
  std::string reason_for(const VariantClass &arguments) const;
  std::string reason_to_prepare(const Demand &demand) const;
  void check_kinds(const Arg *arguments, std::size_t count) const;
  std::string names_in_order() const;
  [[noreturn]] void fail_strides(const BindOptions &options) const;
  ArgumentFacts facts_of(std::size_t i, const Arg &given, const std::int64_t *values) const;
  ArgumentFacts facts_of(std::size_t i, const std::int64_t *strides, int alignment,
                         const std::int64_t *values) const;
  std::vector<ArgumentFacts> facts_of(const std::int64_t *values, const BindOptions &options) const;
  void add_strides(std::size_t i, const ArgumentFacts &facts, Bindings &sizes) const;
  Demand demand_of(const ArgumentFacts *facts, const std::int64_t *values) const;
  Section section() const;
  std::size_t fill_key(std::int64_t *key, const ArgumentFacts *facts, const std::int64_t *values,
                       const Context &context) const;
  void require_launchable(CUstream_st *stream) const;
  std::shared_ptr<const BoundLaunch> find_or_bind(const ArgumentFacts *facts,
                                                  const std::int64_t *values,
                                                  const Context &context) const;
  std::shared_ptr<const BoundLaunch> bind_now(const ArgumentFacts *facts,
                                              const std::int64_t *values, const Context &context,
                                              std::vector<std::int64_t> key) const;

  Interface interface_;
  Source source_;
  CompileOptions options_;
  Machine machine_;
  SizeSolver solver_;
  std::vector<SharedMemory> in_place_;
  std::vector<int> element_sizes_;   // by argument
  Bindings expected_;                // of all symbols
  std::vector<std::string> tiered_;  // symbols that the first variant has tiers of
  mutable VariantSet variants_;
  std::shared_ptr<const Variant> first_;
  std::shared_ptr<const Variant> general_;  // no_recompile: serves whatever no other variant does
  std::vector<std::shared_ptr<const ExecutableImpl>> others_;  // for further targets
  WorkspacePool workspaces_;
  /// Recently used sizes. A slot is replaced by whatever hashes to it, so the table is bounded.
  mutable std::array<std::atomic<std::shared_ptr<const BoundLaunch>>, kSlots> slots_;
};

/// In a handler: throws the error again. What the caller's arguments and options are at fault for
/// begins with the program's name.
[[noreturn]] void rethrow_named(const std::string &program, const Error &error);

FUSE_END_NAMESPACE
