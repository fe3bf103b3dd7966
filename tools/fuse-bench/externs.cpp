// A result begins with the first of some random numbers of its dtype, and repeats them.
#include "externs.h"

#include "random_tensor.h"

#include <map>

namespace fuse::bench {

namespace {

/// Random numbers of a dtype; the numbers of extern operations are drawn once.
class Numbers {
 public:
  const Tensor &of(DType dtype) {
    auto [it, is_new] = drawn_.try_emplace(dtype);
    std::mt19937_64 random(kSeed);
    if (is_new) it->second = random_tensor(dtype, {kCount}, kLimit, random);
    return it->second;
  }

 private:
  static constexpr std::int64_t kCount = 1 << 16, kLimit = 100;
  static constexpr std::uint64_t kSeed = 21;
  std::map<DType, Tensor> drawn_;
};

/// All of a result.
Tensor filled(const Tensor &numbers, const std::vector<std::int64_t> &shape) {
  Tensor result(numbers.dtype, shape);
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.set_bits(i, numbers.bits(i % numbers.size()));
  return result;
}

std::size_t bytes_of(const TensorView &view, DType dtype) {
  return static_cast<std::size_t>(count_elements({view.shape, std::size_t(view.rank)})) *
         size_of(dtype);
}

}  // namespace

ExternFn stand_ins(const GraphData &graph) {
  // The evaluator calls for the nodes in their order.
  return [&graph, node = NodeId{0}, numbers = Numbers()](std::string_view,
                                                         std::span<const Expected>) mutable {
    while (graph.node(node).op != Op::Extern) ++node;
    const auto &attr = graph.attr<ExternAttr>(node++);
    std::vector<Expected> results;
    for (std::size_t i = 0; i < attr.dtypes.size(); ++i)
      results.push_back(
          exactly(filled(numbers.of(attr.dtypes[i]), evaluate(attr.shapes[i], Bindings()))));
    return results;
  };
}

std::vector<std::size_t> run_with_stand_ins(const Instance &instance) {
  Numbers numbers;
  std::vector<std::size_t> launched;
  const Step *running = nullptr;  // the call itself does not tell the dtypes
  StepObserver observer;
  observer.before = [&](const Step &step) {
    running = &step;
    if (!step.is_extern) launched.push_back(step.kernel);
  };
  instance.run(observer, [&](const ExternCall &call) {
    for (std::size_t i = 0; i < call.num_results; ++i) {
      DType dtype = running->dtypes[call.num_operands + i];
      const TensorView &result = call.results[i];
      instance.fill(const_cast<void *>(result.data), bytes_of(result, dtype), numbers.of(dtype));
    }
  });
  return launched;
}

}  // namespace fuse::bench
