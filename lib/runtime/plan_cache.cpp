// The key and the look-up of plans.
#include "runtime/plan_cache.h"

#include "ir/env.h"
#include "ir/format.h"
#include "ir/log.h"
#include "ir/program_text.h"
#include "ir/target_text.h"
#include "runtime/build_id.h"

namespace fuse {

namespace {

/// Node numbers stand in decisions and in the names of buffers, so every value has its own in the
/// text; '#' keeps them apart from names of the user.
std::string numbered_text(const Graph &graph) {
  Graph copy = graph.clone();
  GraphData &g = copy.data();
  for (NodeId id = 0; id < g.size(); ++id)
    if (g.node(id).op != Op::Input) g.names.try_emplace(id, "#" + std::to_string(id));
  std::string text = to_string(copy) + "kept";
  for (const auto &[id, kept] : g.keep_marks) append(text, " {}:{}", id, kept);
  return text;
}

std::string text_of(const std::vector<ArgumentClass> &classes) {
  std::string text;
  for (const auto &[strided, alignment, has_rows, shifted] : classes)
    append(text, " {}{}{}{}", strided ? "strided " : "", has_rows ? "rows " : "",
           shifted ? "shifted " : "", alignment);
  return text;
}

// The bindings name every field: a new one does not compile before it is in the key.
std::string text_of(const LowerOptions &options) {
  const auto &[strict, batch_invariant, inputs, outputs, sizes, divisors, narrow, fixed, overrides,
               in_place, tunings] = options;
  std::string text = fmt::format("strict {} batch_invariant {}\n", strict, batch_invariant);
  append(text, "inputs{}\noutputs{}\nsizes", text_of(inputs), text_of(outputs));
  for (const auto &[name, size] : sizes) append(text, " {}={}", name, size);
  append(text, "\nnarrow {}\ndivisors", narrow);
  for (const auto &[name, divisor] : divisors) append(text, " {}={}", name, divisor);
  text += "\nfixed";
  for (const auto &[name, size] : fixed) append(text, " {}={}", name, size);
  text += "\nin_place";
  for (const auto &[input, output] : in_place) append(text, " {}={}", input, output);
  const auto &[keep, recompute, no_fuse] = overrides;
  text += "\nkeep";
  for (const std::string &label : keep) text += " " + label;
  text += "\nrecompute";
  for (const std::string &label : recompute) text += " " + label;
  for (const std::vector<std::string> &set : no_fuse) {
    text += "\napart";
    for (const std::string &label : set) text += " " + label;
  }
  for (const auto &[kernel, tuning] : tunings)
    append(text, "\ntuning {} {}", kernel, to_string(tuning));
  return text + "\n";
}

/// The program of an entry, if it is one.
std::optional<Program> read(DiskCache &cache, const std::string &key) {
  std::optional<std::string> text = cache.load(key);
  if (!text) return {};
  try {
    return parse_program(*text, "<cache>");
  } catch (const Error &e) {
    log(LogLevel::Warning, "a cached program is planned again: {}", e.what());
    return {};
  }
}

}  // namespace

std::string plan_key(const Graph &graph, const Target &target, const LowerOptions &options) {
  std::string key = "plan " + library_build() + "\nwithout";
  for (const std::string &pass : environment().disable) key += " " + pass;
  return key + "\ntarget\n" + to_string(target) + text_of(options) + numbered_text(graph);
}

Lowered lower_cached(const Graph &graph, const Target &target, const LowerOptions &options,
                     DiskCache &cache) {
  if (dumps("graph") || dumps("plan")) return lower(graph, target, options);
  std::string key = plan_key(graph, target, options);
  if (std::optional<Program> program = read(cache, key)) return {std::move(*program), true};
  Program program = lower(graph, target, options);
  cache.store(key, to_string(program));
  return program;
}

}  // namespace fuse
