// The builders as texts call them: one row each, attributes named like the C++ parameters.
#include "ir/graph_text.h"

#include <fuse/builders.h>

#include <algorithm>
#include <iterator>

namespace fuse {

namespace {

using Build = Value (*)(Arguments &);

struct TextBuilder {
  std::string_view name;
  std::size_t min_operands, max_operands;
  Build build;
};

#define FUSE_UNARY(f) {#f, 1, 1, [](Arguments &a) { return f(a.operand(0)); }}

Operand seed_of(Arguments &a, std::size_t i) {
  return Operand(a.graph().value(a.node(i, DType::U64)), a.where());
}

Shape shape_of(Arguments &a) { return a.type().shape.value_or(Shape{}); }

// Sorted by name.
constexpr TextBuilder kBuilders[] = {
    {"batch_norm", 3, 5,
     [](Arguments &a) {
       return batch_norm(a.operand(0), a.value(1), a.value(2), a.value(3), a.value(4),
                         a.real("eps", 1e-5), a.axis("axis", 1));
     }},
    {"bernoulli", 2, 2,
     [](Arguments &a) {
       Shape shape = shape_of(a);
       return bernoulli(seed_of(a, 0), a.operand(1), shape, a.stream());
     }},
    {"clamp", 3, 3, [](Arguments &a) { return clamp(a.operand(0), a.operand(1), a.operand(2)); }},
    {"cross_entropy", 2, 2,
     [](Arguments &a) { return cross_entropy(a.operand(0), a.value(1), a.axis("axis", -1)); }},
    {"dropout", 3, 3,
     [](Arguments &a) { return dropout(a.operand(0), a.operand(1), seed_of(a, 2), a.stream()); }},
    {"elu", 1, 1, [](Arguments &a) { return elu(a.operand(0), a.real("alpha", 1)); }},
    FUSE_UNARY(gelu),
    FUSE_UNARY(gelu_erf),
    {"group_norm", 1, 3,
     [](Arguments &a) {
       return group_norm(a.operand(0), a.integer("groups"), a.value(1), a.value(2),
                         a.real("eps", 1e-5));
     }},
    FUSE_UNARY(hardswish),
    {"layer_norm", 1, 3,
     [](Arguments &a) {
       return layer_norm(a.operand(0), a.axes("axes"), a.value(1), a.value(2), a.real("eps", 1e-5));
     }},
    {"leaky_relu", 1, 1,
     [](Arguments &a) { return leaky_relu(a.operand(0), a.real("slope", 0.01)); }},
    {"log_softmax", 1, 1,
     [](Arguments &a) { return log_softmax(a.operand(0), a.axis("axis", -1)); }},
    {"logsumexp", 1, 1,
     [](Arguments &a) { return logsumexp(a.operand(0), a.axes("axes"), a.word("keep")); }},
    {"mean", 1, 1, [](Arguments &a) { return mean(a.operand(0), a.axes("axes"), a.word("keep")); }},
    {"normal", 1, 1,
     [](Arguments &a) {
       Shape shape = shape_of(a);
       return normal(seed_of(a, 0), a.type().dtype, shape, a.stream());
     }},
    {"normalize", 1, 1,
     [](Arguments &a) {
       return normalize(a.operand(0), a.axis("axis", -1), a.real("eps", 1e-12));
     }},
    FUSE_UNARY(reciprocal),
    FUSE_UNARY(relu),
    {"rms_norm", 1, 2,
     [](Arguments &a) {
       return rms_norm(a.operand(0), a.axes("axes"), a.value(1), a.real("eps", 1e-6));
     }},
    {"rotary_embedding", 3, 3,
     [](Arguments &a) { return rotary_embedding(a.operand(0), a.value(1), a.value(2)); }},
    {"scatter_add", 2, 2,
     [](Arguments &a) {
       return scatter_add(shape_of(a), a.value(0), a.operand(1), a.axis("axis", 0));
     }},
    {"select_scatter", 2, 2,
     [](Arguments &a) {
       return select_scatter(a.operand(0), a.value(1), a.axis("axis"), a.dim("index"));
     }},
    FUSE_UNARY(silu),
    {"slice_scatter", 2, 2,
     [](Arguments &a) {
       return slice_scatter(a.operand(0), a.value(1), a.axis("axis"), a.dim("start"), a.dim("stop"),
                            a.integer("step", 1));
     }},
    {"softmax", 1, 1, [](Arguments &a) { return softmax(a.operand(0), a.axis("axis", -1)); }},
    {"softplus", 1, 1, [](Arguments &a) { return softplus(a.operand(0), a.real("beta", 1)); }},
    FUSE_UNARY(square),
    {"squeeze", 1, 1, [](Arguments &a) { return squeeze(a.operand(0), a.axis("axis")); }},
    {"stddev", 1, 1,
     [](Arguments &a) {
       int correction = a.small_integer("correction", 0);
       return stddev(a.operand(0), a.axes("axes"), correction, a.word("keep"));
     }},
    {"swiglu", 2, 2, [](Arguments &a) { return swiglu(a.operand(0), a.operand(1)); }},
    {"uniform", 1, 1,
     [](Arguments &a) {
       Shape shape = shape_of(a);
       return uniform(seed_of(a, 0), a.type().dtype, shape, a.stream());
     }},
    {"unsqueeze", 1, 1, [](Arguments &a) { return unsqueeze(a.operand(0), a.axis("axis")); }},
    {"var", 1, 1,
     [](Arguments &a) {
       int correction = a.small_integer("correction", 0);
       return var(a.operand(0), a.axes("axes"), correction, a.word("keep"));
     }},
};

#undef FUSE_UNARY

std::vector<NodeId> build_batch_norm_training(Arguments &a) {
  a.expect_operands(3, 5);
  BatchNorm r =
      batch_norm_training(a.operand(0), a.value(1), a.value(2), a.value(3), a.value(4),
                          a.real("momentum", 0.1), a.real("eps", 1e-5), a.axis("axis", 1));
  return {r.y.index(), r.running_mean.index(), r.running_var.index()};
}

}  // namespace

std::vector<NodeId> build_text_builder(Arguments &a) {
  std::string_view name = a.statement().op.name;
  if (name == "batch_norm_training") return build_batch_norm_training(a);
  auto it = std::find_if(std::begin(kBuilders), std::end(kBuilders),
                         [&](const TextBuilder &b) { return b.name == name; });
  if (it == std::end(kBuilders)) return {};
  a.expect_operands(it->min_operands, it->max_operands);
  return {it->build(a).index()};
}

std::vector<std::string_view> text_builder_names() {
  std::vector<std::string_view> names = {"batch_norm_training"};
  for (const TextBuilder &b : kBuilders) names.push_back(b.name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fuse
