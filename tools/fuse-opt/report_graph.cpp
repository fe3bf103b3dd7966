// The plan, and the inside of a kernel, as drawings.
#include "drawing.h"
#include "html.h"
#include "report_parts.h"
#include "text.h"

#include "ir/graph_data.h"
#include "ir/op.h"

#include <algorithm>
#include <map>

using namespace fuse;

namespace {

constexpr std::size_t kManyBoxes = 120;  // beyond, inputs and outputs stay away
constexpr std::size_t kManyValues = 80;  // beyond, the inside of a kernel is not drawn

std::string type_of(const GraphData &g, NodeId id) {
  return std::string(to_string(g.dtype(id))) + to_string(g.shape(id));
}

std::string described(const GraphData &g, NodeId id) {
  return "%" + value_label(g, id) + ": " + type_of(g, id);
}

/// A reshape lies where its operand lies.
NodeId memory_of(const GraphData &g, NodeId id) {
  while (g.node(id).op == Op::Reshape) id = g.operand(id, 0);
  return id;
}

bool is_arithmetic(const GraphData &g, NodeId id) {
  OpKind kind = info(g.node(id).op).kind;
  return kind != OpKind::Leaf && kind != OpKind::View;
}

/// "exp, sum, div and 9 more": each operation once.
std::string operations_of(const GraphData &g, const PlannedKernel &kernel) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> names;
  for (NodeId id : kernel.nodes) {
    std::string name(info(g.node(id).op).text);
    if (is_arithmetic(g, id) && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += formatted(" and {} more", names.size() - kShown);
  return names.empty() ? "copy" : text;
}

class PlanDrawing {
 public:
  explicit PlanDrawing(const Reported &r) : r_(r), g_(r.canonical.data()) {}

  Drawing draw() {
    shows_ends_ = r_.plan().steps.size() + g_.inputs.size() + g_.outputs.size() <= kManyBoxes;
    if (shows_ends_)
      for (NodeId id : g_.inputs)
        holder_[id] = add({"memory", {"%" + value_label(g_, id)}, described(g_, id), ""});
    for (const PlanStep &step : r_.plan().steps)
      step.is_extern ? add_extern(step.extern_node) : add_kernel(step.kernel);
    if (shows_ends_)
      for (const Output &output : g_.outputs) {
        std::size_t box = add({"memory", {output.name}, described(g_, output.node), ""});
        connect(output.node, box);
      }
    return std::move(drawing_);
  }

  bool shows_ends() const { return shows_ends_; }

 private:
  std::size_t add(DrawnBox box) {
    drawing_.boxes.push_back(std::move(box));
    return drawing_.boxes.size() - 1;
  }

  /// From whatever wrote the value.
  void connect(NodeId value, std::size_t box) {
    auto holder = holder_.find(memory_of(g_, value));
    if (holder != holder_.end())
      drawing_.arrows.push_back({holder->second, box, described(g_, holder->first)});
  }

  void add_kernel(std::size_t index) {
    const PlannedKernel &k = r_.plan().kernels[index];
    std::string figures = time_text(1e6 * k.seconds) + ", " + k.bound;
    std::size_t box = add({"kernel",
                           {k.name, figures, operations_of(g_, k)},
                           formatted("{}: {} read and written", k.name, bytes_text(k.bytes)),
                           "#" + k.name});
    for (NodeId id : k.reads) connect(id, box);
    for (NodeId id : k.stores) holder_[memory_of(g_, id)] = box;
  }

  void add_extern(NodeId id) {
    const auto &attr = g_.attr<ExternAttr>(id);
    std::size_t box = add({"extern", {"extern " + attr.name}, described(g_, id), ""});
    for (NodeId operand : g_.operands(id)) connect(operand, box);
    holder_[id] = box;
    for (NodeId n = id + 1; n < g_.size(); ++n)
      if (g_.node(n).op == Op::ExternResult && g_.operand(n, 0) == id) holder_[n] = box;
  }

  const Reported &r_;
  const GraphData &g_;
  Drawing drawing_;
  std::map<NodeId, std::size_t> holder_;  // by value in memory: the box that wrote it
  bool shows_ends_ = true;
};

/// Values that a drawing of the kernel shows: those that it computes, and reads.
Drawing drawing_of(const GraphData &g, const PlannedKernel &kernel) {
  Drawing drawing;
  std::map<NodeId, std::size_t> box;
  std::vector<NodeId> shown = kernel.reads;
  for (NodeId id : kernel.nodes)
    if (g.node(id).op != Op::Constant) shown.push_back(id);
  std::sort(shown.begin(), shown.end());
  for (NodeId id : shown) {
    bool is_read = std::binary_search(kernel.reads.begin(), kernel.reads.end(), id);
    bool is_stored = std::binary_search(kernel.stores.begin(), kernel.stores.end(), id);
    std::string op = is_read ? "load" : std::string(info(g.node(id).op).text);
    box[id] = drawing.boxes.size();
    drawing.boxes.push_back({is_read     ? "memory"
                             : is_stored ? "value stored"
                                         : "value",
                             {"%" + value_label(g, id) + " " + op},
                             described(g, id),
                             ""});
    if (is_read) continue;
    for (NodeId operand : g.operands(id))
      if (auto from = box.find(operand); from != box.end())
        drawing.arrows.push_back({from->second, box[id], described(g, operand)});
  }
  return drawing;
}

}  // namespace

std::string plan_drawing(const Reported &r) {
  PlanDrawing plan(r);
  std::string text = svg_of(plan.draw());
  if (!plan.shows_ends())
    text += "<p class=\"note\">Inputs and outputs are left out: there are many.</p>\n";
  return text;
}

std::string value_drawing(const Reported &r, std::size_t kernel) {
  const PlannedKernel &planned = r.plan().kernels[kernel];
  if (planned.nodes.empty() || planned.nodes.size() > kManyValues) return "";
  return svg_of(drawing_of(r.canonical.data(), planned));
}
