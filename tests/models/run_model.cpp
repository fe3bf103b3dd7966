// Runs recorded models on the host executor and judges everything that it gives.
//
//     run_model FOLDER/ID...        reads ID.fuse and ID.values, written by pack_models.py
//
// Extern ops give what was recorded of them. What each of them receives, and every output, must lie
// within the evaluator's bounds, strict and widened; so must the recorded values. Prints a line for
// each model and mode. Exit codes: 0 all match, 1 a model that cannot run, 3 a mismatch.
#include "models/recorded.h"

#include "passes/passes.h"

#include <fuse/jit.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace {

using namespace fuse;

struct RecordedCall {
  std::vector<Expected> operands;
  std::vector<Tensor> results;
};

struct Tally {
  int kernels = 0, outputs = 0, operands = 0, recorded = 0, failures = 0;
  std::int64_t uncertain = 0;
};

std::string read_file(const std::string &path) {
  std::ifstream file(path);
  if (!file) refuse("cannot read '" + path + "'");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A model with its recorded values and what they should be.
class Model {
 public:
  Model(const std::string &base)
      : graph_(parse(read_file(base + ".fuse"), base + ".fuse")), recorded_(base + ".values") {
    name_values();
    for (NodeId id : graph_.data().inputs)
      inputs_.push_back(need(graph_.data().attr<InputAttr>(id).name, graph_.data(), id));
  }

  Tally run(bool strict);

 private:
  void name_values();
  std::string name_of(NodeId id) const;
  Tensor need(const std::string &name, const GraphData &g, NodeId id) const;
  void judge(const std::string &what, const Expected &expected, const Tensor &actual);
  std::vector<Expected> run_extern(std::string_view name, std::span<const Expected> operands);
  void check_recorded(const Evaluation &evaluation);
  void handle(const ExternCall &call);
  void launch(const Executable &executable, const Evaluation &evaluation);

  Graph graph_;
  Recorded recorded_;
  std::vector<Tensor> inputs_;
  std::map<std::string, NodeId, std::less<>> extern_nodes_;
  std::map<std::string, RecordedCall, std::less<>> calls_;
  Tally tally_;
};

void Model::name_values() {
  const GraphData &g = graph_.data();
  for (NodeId id = 0; id < g.size(); ++id)
    if (g.node(id).op == Op::Extern) extern_nodes_[g.attr<ExternAttr>(id).name] = id;
}

std::string Model::name_of(NodeId id) const {
  const GraphData &g = graph_.data();
  if (g.node(id).op == Op::Input) return g.attr<InputAttr>(id).name;
  auto named = g.names.find(id);
  return named == g.names.end() ? "" : named->second;
}

Tensor Model::need(const std::string &name, const GraphData &g, NodeId id) const {
  std::optional<Tensor> found = recorded_.find(name, g.dtype(id), evaluate(g.shape(id), {}));
  if (!found) refuse(name + " was not recorded");
  return *std::move(found);
}

void Model::judge(const std::string &what, const Expected &expected, const Tensor &actual) {
  Comparison comparison = compare(expected, actual);
  tally_.uncertain += comparison.uncertain;
  if (comparison.passed()) return;
  ++tally_.failures;
  std::printf("  %s: %s\n", what.c_str(), to_string(comparison).c_str());
}

/// For the evaluator: the recorded results, or what follows from the operands.
std::vector<Expected> Model::run_extern(std::string_view name, std::span<const Expected> operands) {
  const GraphData &g = graph_.data();
  NodeId node = extern_nodes_.find(name)->second;
  RecordedCall call{{operands.begin(), operands.end()}, {}};
  std::vector<Expected> results;
  const ExternAttr &attr = g.attr<ExternAttr>(node);
  for (std::size_t i = 0; i < attr.dtypes.size(); ++i) {
    std::optional<Tensor> found = recorded_.find(name_of(node + static_cast<NodeId>(i)),
                                                 attr.dtypes[i], evaluate(attr.shapes[i], {}));
    results.push_back(found ? exactly(*found) : compute_extern(name, operands));
    call.results.push_back(rounded(results.back()));
  }
  calls_[std::string(name)] = std::move(call);
  return results;
}

/// The recording against the evaluator: what a right implementation gave.
void Model::check_recorded(const Evaluation &evaluation) {
  const GraphData &g = graph_.data();
  auto check = [&](const std::string &name, NodeId id, const Expected &expected) {
    std::optional<Tensor> found = recorded_.find(name, g.dtype(id), evaluate(g.shape(id), {}));
    if (!found) return;
    ++tally_.recorded;
    judge("recorded " + name, expected, *found);
  };
  for (const auto &[name, call] : calls_)
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      NodeId operand = g.operand(extern_nodes_.find(name)->second, i);
      check(name_of(operand), operand, call.operands[i]);
    }
  for (std::size_t i = 0; i < g.outputs.size(); ++i)
    check(g.outputs[i].name, g.outputs[i].node, evaluation.outputs[i]);
}

/// Visits the elements of a view in row-major order: their index and address.
template <typename Visit>
void for_each_element(const TensorView &view, std::size_t element_size, Visit visit) {
  std::int64_t total = 1;
  for (int a = 0; a < view.rank; ++a) total *= view.shape[a];
  const char *base = static_cast<const char *>(view.data);
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t rest = i, offset = view.contiguous ? i : 0;
    for (int a = view.rank; a-- > 0 && !view.contiguous;) {
      offset += rest % view.shape[a] * view.strides[a];
      rest /= view.shape[a];
    }
    visit(i, base + offset * static_cast<std::int64_t>(element_size));
  }
}

void Model::handle(const ExternCall &call) {
  auto found = calls_.find(call.name);
  if (found == calls_.end()) refuse("call of an unknown op " + std::string(call.name));
  const RecordedCall &expected = found->second;
  for (std::size_t i = 0; i < call.num_operands; ++i) {
    Tensor got(expected.operands[i].dtype, expected.operands[i].shape);
    std::size_t size = got.bytes.size() / std::max<std::size_t>(1, std::size_t(got.size()));
    for_each_element(call.operands[i], size, [&](std::int64_t k, const char *from) {
      std::memcpy(got.bytes.data() + k * std::int64_t(size), from, size);
    });
    ++tally_.operands;
    judge(found->first + " operand " + std::to_string(i), expected.operands[i], got);
  }
  for (std::size_t i = 0; i < call.num_results; ++i) {
    const Tensor &result = expected.results[i];
    std::size_t size = result.bytes.size() / std::max<std::size_t>(1, std::size_t(result.size()));
    for_each_element(call.results[i], size, [&](std::int64_t k, const char *to) {
      std::memcpy(const_cast<char *>(to), result.bytes.data() + k * std::int64_t(size), size);
    });
  }
}

void Model::launch(const Executable &executable, const Evaluation &evaluation) {
  std::vector<Arg> arguments;
  for (const Tensor &t : inputs_) arguments.push_back(tensor(t.bytes.data(), t.shape));
  std::vector<Tensor> outputs;
  for (const Expected &e : evaluation.outputs) {
    outputs.emplace_back(e.dtype, e.shape);
    // Not zeros: an element that nobody writes must show.
    std::fill(outputs.back().bytes.begin(), outputs.back().bytes.end(), std::byte{0xFF});
  }
  for (const Tensor &t : outputs) arguments.push_back(tensor(t.bytes.data(), t.shape));
  LaunchOptions options;
  options.run_extern = [this](const ExternCall &call) { handle(call); };
  executable.launch(nullptr, arguments.data(), arguments.size(), options);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ++tally_.outputs;
    judge(graph_.data().outputs[i].name, evaluation.outputs[i], outputs[i]);
  }
}

Tally Model::run(bool strict) {
  tally_ = {};
  calls_.clear();
  EvaluateOptions evaluating;
  evaluating.run_extern = [this](std::string_view name, std::span<const Expected> operands) {
    return run_extern(name, operands);
  };
  Evaluation evaluation = evaluate(canonicalize(graph_, strict).data(), inputs_, {}, evaluating);
  // Models were recorded with every value rounded to its dtype.
  if (strict) check_recorded(evaluation);
  CompileOptions compiling;
  compiling.executor = Executor::Host;
  compiling.strict = strict;
  Executable executable = compile(graph_, compiling);
  tally_.kernels = executable.compilations().front().kernels;
  launch(executable, evaluation);
  return tally_;
}

int run_models(int count, char **bases) {
  int code = 0;
  for (int i = 0; i < count; ++i) {
    std::string base = bases[i];
    std::string id = base.substr(base.rfind('/') + 1);
    try {
      Model model(base);
      for (bool strict : {true, false}) {
        Tally t = model.run(strict);
        std::printf(
            "%s %s: %s; %d kernels, %d outputs, %d operands, %d recorded values, %lld "
            "uncertain elements\n",
            id.c_str(), strict ? "strict" : "widened", t.failures ? "MISMATCH" : "ok", t.kernels,
            t.outputs, t.operands, t.recorded, static_cast<long long>(t.uncertain));
        if (t.failures) code = std::max(code, 3);
      }
    } catch (const Error &error) {
      std::printf("%s: error: %s\n", id.c_str(), error.what());
      code = std::max(code, 1);
    }
    std::fflush(stdout);
  }
  return code;
}

}  // namespace

int main(int argc, char **argv) { return run_models(argc - 1, argv + 1); }
