// What there is to name: operations, passes, machines.
#include "stages.h"

#include "ir/format.h"
#include "ir/graph_text.h"
#include "ir/op.h"
#include "passes/passes.h"

using namespace fuse;

namespace {

std::string list_ops() {
  std::string text;
  for (int i = 0; i < kNumOps; ++i) {
    const OpInfo &op = info(static_cast<Op>(i));
    append(text, "{:<14} {}\n", op.text, op.doc);
  }
  text += "\nbuilders:";
  for (std::string_view name : text_builder_names()) append(text, " {}", name);
  return text + "\n";
}

std::string list_targets() {
  std::string text;
  for (const std::string &name : Target::names()) {
    Target t = Target::named(name);
    append(text, "{:<10} sm_{:<4} {:>4} SMs  copy {:.2f} TB/s{}\n", name, t.sm, t.num_sms,
           t.hbm_bytes * 1e-12, t.measured ? " measured" : "");
  }
  return text;
}

}  // namespace

std::string lists(const Options &options) {
  std::string text;
  if (options.list_ops) text += list_ops();
  if (options.list_passes)
    for (const GraphPass &p : graph_passes()) append(text, "{:<16} {}\n", p.name, p.doc);
  if (options.list_targets) text += list_targets();
  return text;
}
