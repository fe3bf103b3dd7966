// The page of --report, from its parts.
#include "report.h"

#include "html.h"
#include "report_parts.h"
#include "stages.h"
#include "targets.h"
#include "text.h"

#include "passes/passes.h"
#include "runtime/worker.h"

#include <optional>

using namespace fuse;

namespace {

std::string totals_row(const char *what, const PlanTotals &totals) {
  return formatted(
      "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td></tr>\n",
      what, totals.kernels, bytes_text(totals.bytes), time_text(totals.predicted_us));
}

std::string sizes_text(const Bindings &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes) text += formatted(", {} = {}", name, size);
  return text;
}

/// The machine, the sizes, and what fusion gains.
std::string overview(const Reported &r) {
  PlanTotals fused;
  fused.kernels = r.program.kernels.size();
  fused.predicted_us = r.total_us();
  for (const PlannedKernel &k : r.plan().kernels) fused.bytes += k.bytes;
  std::string text = formatted(
      "<h1>{}</h1>\n<p>{} (sm_{}, copy {:.2f} TB/s{}){}; all times are predictions</p>\n",
      escaped(r.given.name()), escaped(r.target.name), r.target.sm, 1e-12 * r.target.hbm_bytes,
      r.target.measured ? " measured" : ", estimated", escaped(sizes_text(r.plan().sizes)));
  text +=
      "<table class=\"totals\"><thead><tr><th></th><th class=\"number\">launches</th><th "
      "class=\"number\">device memory</th><th class=\"number\">time</th></tr></thead><tbody>\n";
  text += totals_row("a kernel an operation", r.plan().unfused) + totals_row("fused", fused);
  text += "</tbody></table>\n";
  if (fused.predicted_us > 0)
    text += formatted(
        "<p>{:.1f} times as fast, {:.0f} % of the time that a copy of its bytes "
        "takes</p>\n",
        r.plan().unfused.predicted_us / fused.predicted_us,
        100 * (1e6 * fused.bytes / r.target.hbm_bytes) / fused.predicted_us);
  return text;
}

std::string body(const Reported &r) {
  std::string text = overview(r);
  text += "<h2>Kernels</h2>\n" + plan_drawing(r);
  text += "<h2>Roofline</h2>\n" + roofline(r);
  text += "<h2>Decisions</h2>\n" + decision_table(r.plan().decisions);
  text += "<h2>Kernel by kernel</h2>\n" + kernel_sections(r);
  text += "<h2>Texts</h2>\n" + collapsible("graph", to_string(r.given)) +
          collapsible("graph as it was planned", to_string(r.canonical)) +
          collapsible("plan", to_string(r.plan(), r.canonical));
  return text;
}

}  // namespace

std::string report_page(const Graph &graph, const Options &options) {
  std::vector<Target> targets = targets_of(options);
  if (targets.size() > 1) throw UsageError("--report: a page is for one machine");
  std::optional<LoweredGraph> lowered;
  run_on_worker([&] { lowered = lower_graph(graph, targets[0], lowering_of(graph, options)); });
  Reported reported{graph, lowered->graph, lowered->program, targets[0]};
  return page(std::string(graph.name()) + " on " + targets[0].name, body(reported));
}
