#include "trainer/products.h"

using namespace fuse;

namespace {

Value product(const char *name, Value a, Value b, const Shape &shape) {
  return extern_op(name, {a, b}, {{bf16, shape}})[0];
}

Value factor(Graph &g, const char *name, bool transposed, const Dim &rows, const Dim &columns) {
  if (!transposed) return g.input(name, bf16, {rows, columns});
  return transpose(g.input(name, bf16, {columns, rows}), {1, 0});
}

/// The sum over k of a[m, k] b[k, n], in f32 and rounded once.
Executable compile_product(bool transpose_a, bool transpose_b, CompileOptions options) {
  Graph g("matmul");
  Dim m = g.dim("M"), k = g.dim("K"), n = g.dim("N");
  Value a = factor(g, "a", transpose_a, m, k), b = factor(g, "b", transpose_b, k, n);
  Value terms = cast(unsqueeze(a, 2), f32) * cast(unsqueeze(b, 0), f32);
  g.output("y", cast(sum(terms, {1}), bf16));
  options.expected_sizes = {
      {"M", 512}, {"K", 512}, {"N", 512}};  // planned for these, right for all
  return compile(g, options);
}

}  // namespace

Value matmul(Value a, Value b) {
  Value y = product("matmul", a, b, {a.shape()[0], b.shape()[1]});
  return custom_gradient(y, {a, b}, [](Value dy, const std::vector<Value> &factors) {
    return std::vector<Value>{product("matmul_nt", dy, factors[1], factors[0].shape()),
                              product("matmul_tn", factors[0], dy, factors[1].shape())};
  });
}

Products::Products(const CompileOptions &options)
    : kernels_{{"matmul", compile_product(false, false, options)},
               {"matmul_nt", compile_product(false, true, options)},
               {"matmul_tn", compile_product(true, false, options)}} {}

void Products::operator()(const ExternCall &call) {
  kernels_.find(call.name)->second.launch(call.stream,
                                          {call.operands[0], call.operands[1], call.results[0]});
  ++calls_;
}
