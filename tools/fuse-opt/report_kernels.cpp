// What is told of each kernel, and of decisions.
#include "html.h"
#include "report_parts.h"
#include "text.h"

#include "codegen/codegen.h"
#include "ir/graph_data.h"
#include "ir/instances.h"
#include "ir/op.h"
#include "runtime/worker.h"

#include <algorithm>
#include <numeric>

using namespace fuse;

namespace {

constexpr std::size_t kMostWithCode = 24;  // the slowest: pages stay small

struct Code {
  std::string llvm, ptx;
};

/// Code of the slowest kernels, made at once; empty for others.
std::vector<Code> codes_of(const Reported &r) {
  const std::vector<Kernel> &kernels = r.program.kernels;
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto seconds = [&](std::size_t i) {
    return i < r.plan().kernels.size() ? r.plan().kernels[i].seconds : 0.0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds(a) > seconds(b); });
  order.resize(std::min(order.size(), kMostWithCode));
  std::vector<Code> codes(kernels.size());
  run_on_workers(order.size(), 0, [&](std::size_t i) {
    const Kernel &kernel = kernels[order[i]];
    codes[order[i]] = {emit_llvm(kernel, r.target), emit_ptx({&kernel}, r.target)};
  });
  return codes;
}

std::string row(const std::string &name, const std::string &value) {
  return formatted("<tr><td>{}</td><td>{}</td></tr>\n", name, value);
}

/// A bar for each pipe: the time it would take alone, as a share of the kernel's.
std::string pipe_table(const PlannedKernel &k) {
  constexpr double kBar = 260;
  std::string text = "<table class=\"pipes\"><tbody>\n";
  for (const PipeTime &p : k.pipes) {
    double share = p.us / std::max(1e-9, 1e6 * k.seconds);
    if (p.us <= 0) continue;
    text += row(
        escaped(p.pipe),
        formatted("<span class=\"bar\" style=\"width: {:.0f}px; background: {}\"></span> "
                  "{:.0f} % ({})",
                  kBar * std::min(1.0, share), colour_of(p.pipe), 100 * share, time_text(p.us)));
  }
  return text + "</tbody></table>\n";
}

/// Whether a decision is about the kernel: by its name, or by a value that it computes or stores.
bool concerns(const Decision &d, const GraphData &g, const PlannedKernel &k) {
  std::size_t space = d.about.find(' ');
  if (space == std::string::npos) return false;
  std::string kind = d.about.substr(0, space), what = d.about.substr(space + 1);
  if (kind != "store") {
    std::size_t slash = what.find('/');
    return what.substr(0, slash) == k.name ||
           (slash != std::string::npos && what.substr(slash + 1) == k.name);
  }
  auto has = [&](const std::vector<NodeId> &ids) {
    return std::any_of(ids.begin(), ids.end(),
                       [&](NodeId id) { return what == "%" + value_label(g, id); });
  };
  return has(k.stores) || (d.chosen == "recomputed" && has(k.nodes));
}

std::string labels_of(const GraphData &g, const std::vector<NodeId> &ids) {
  std::string text;
  for (NodeId id : ids)
    text += (text.empty() ? "%" : ", %") + value_label(g, id) + ": " +
            std::string(to_string(g.dtype(id))) + to_string(g.shape(id));
  return text;
}

/// What was planned: figures, pipes, reasons, the values inside.
std::string planned_part(const Reported &r, std::size_t index) {
  const PlannedKernel &k = r.plan().kernels[index];
  const GraphData &g = r.canonical.data();
  double us = 1e6 * k.seconds;
  std::string text = formatted(
      "<p>{} predicted, {:.0f} % of all; bound by {}; {} of device memory, {:.2f} TB/s, {:.0f} % "
      "of a copy</p>\n",
      time_text(us), 100 * us / std::max(1e-9, r.total_us()), escaped(k.bound), bytes_text(k.bytes),
      1e-12 * k.bytes / std::max(1e-12, k.seconds),
      100 * k.bytes / std::max(1e-12, k.seconds) / r.target.hbm_bytes);
  text += pipe_table(k);
  text += formatted("<p>reads {}<br />stores {}</p>\n", escaped(labels_of(g, k.reads)),
                    escaped(labels_of(g, k.stores)));
  std::vector<Decision> decisions;
  for (const Decision &d : r.plan().decisions)
    if (concerns(d, g, k)) decisions.push_back(d);
  text += decision_table(decisions);
  std::string values = value_drawing(r, index);
  if (!values.empty())
    text += formatted("<details><summary>values</summary>{}</details>\n", values);
  return text;
}

std::string section(const Reported &r, std::size_t index, const Code &code) {
  const Kernel &kernel = r.program.kernels[index];
  std::string text = formatted("<section class=\"kernel\" id=\"{}\">\n<h3>{}</h3>\n",
                               escaped(kernel.name), escaped(kernel.name));
  if (index < r.plan().kernels.size()) text += planned_part(r, index);
  text += formatted("<p>{} blocks of {} threads, clusters of {}</p>\n",
                    num_blocks(kernel, r.plan().sizes), kernel.threads, kernel.cluster);
  text += collapsible("kernel", to_string(kernel));
  if (!code.llvm.empty()) text += collapsible("LLVM IR", code.llvm);
  if (!code.ptx.empty()) text += collapsible("PTX", code.ptx);
  return text + "</section>\n";
}

}  // namespace

double Reported::total_us() const {
  double us = 0;
  for (const PlannedKernel &k : plan().kernels) us += 1e6 * k.seconds;
  return us;
}

std::string kernel_sections(const Reported &r) {
  std::vector<Code> codes = codes_of(r);
  std::string text;
  for (std::size_t i = 0; i < codes.size(); ++i) text += section(r, i, codes[i]);
  if (codes.size() > kMostWithCode)
    text += formatted(
        "<p class=\"note\">LLVM IR and PTX are those of the {} slowest kernels; --emit=llvm,ptx "
        "prints all.</p>\n",
        kMostWithCode);
  return text;
}

std::string decision_table(const std::vector<Decision> &decisions) {
  if (decisions.empty()) return "";
  std::string text =
      "<table class=\"decisions\"><thead><tr><th>decision</th><th>chosen</th><th>best "
      "rejected</th><th class=\"number\">costs</th><th>because</th></tr></thead><tbody>\n";
  for (const Decision &d : decisions) {
    std::string price = d.rejected.empty() ? "" : formatted("{:+.1f} us", 1e6 * d.gain_seconds);
    text += formatted(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
        escaped(d.about), escaped(d.chosen), d.rejected.empty() ? "none" : escaped(d.rejected),
        price, escaped(d.why));
  }
  return text + "</tbody></table>\n";
}
