#include "trainer/model.h"

#include "trainer/products.h"

#include <cmath>
#include <map>

using namespace fuse;

namespace {

using Weights = std::map<std::string, Value>;

Weights inputs_for(Graph &g, const std::vector<Parameter> &parameters) {
  Weights weights;
  for (const Parameter &p : parameters) weights[p.name] = g.input(p.name, bf16, p.shape);
  return weights;
}

/// u8[rows, context] gives bf16[rows, alphabet].
Value logits_of(const Sizes &sizes, const Weights &w, Value context) {
  Dim rows = context.shape()[0];
  Value letters = gather(w.at("embedding"), context);
  Value x = matmul(reshape(letters, {rows, sizes.context * sizes.embedding}), w.at("in"));
  Value hidden = matmul(rms_norm(x, {1}, w.at("norm")), w.at("up")) + w.at("up.bias");
  x = x + matmul(gelu(hidden), w.at("down"));
  return matmul(rms_norm(x, {1}, w.at("out.norm")), w.at("out")) + w.at("out.bias");
}

/// The mean loss of places in the characters that the scalar "draw" decides.
Value loss_of(Graph &g, const Sizes &sizes, const Weights &weights, Value characters,
              std::int64_t batch) {
  Value draw = g.scalar("draw", u64);
  std::int64_t length = characters.shape()[0].value();
  Value start = cast(rem(random_bits(draw, {batch, 1}), length - sizes.context), i64);
  Value window = gather(characters, start + g.iota(i64, {1, sizes.context + 1}, 1));
  Value context = slice(window, 1, 0, sizes.context);
  Value next = reshape(slice(window, 1, sizes.context, sizes.context + 1), {batch});
  Value logits = cast(logits_of(sizes, weights, context), f32);
  return mean(cross_entropy(logits, next), {0});
}

}  // namespace

std::vector<Parameter> parameters_of(const Sizes &s, std::int64_t alphabet) {
  auto matrix = [](const char *name, std::int64_t rows, std::int64_t columns) {
    return Parameter{name, {rows, columns}, 1 / std::sqrt(static_cast<double>(rows))};
  };
  return {{"embedding", {alphabet, s.embedding}, 1},
          matrix("in", s.context * s.embedding, s.width),
          {"norm", {s.width}, 0, 1},
          matrix("up", s.width, s.hidden),
          {"up.bias", {s.hidden}, 0},
          matrix("down", s.hidden, s.width),
          {"out.norm", {s.width}, 0, 1},
          matrix("out", s.width, alphabet),
          {"out.bias", {alphabet}, 0}};
}

Graph initialization_graph(const std::vector<Parameter> &parameters) {
  Graph g("initialization");
  Value seed = g.scalar("seed", u64);
  for (const Parameter &p : parameters) {
    Value w = p.mean + p.deviation * normal(seed, f32, p.shape);
    g.output(p.name + ".master", w);
    g.output(p.name, cast(w, bf16));
  }
  return g;
}

Graph training_graph(const Sizes &sizes, const std::vector<Parameter> &parameters,
                     std::int64_t text_length) {
  Graph g("training");
  Weights weights = inputs_for(g, parameters);
  Value text = g.input("text", u8, {text_length});
  Value loss = loss_of(g, sizes, weights, text, sizes.batch);
  g.output("loss", loss);
  std::vector<Value> learnt;
  for (const Parameter &p : parameters) learnt.push_back(weights.at(p.name));
  std::vector<Value> derivatives = grad(loss, learnt);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    g.output("d." + parameters[i].name, derivatives[i]);
  return g;
}

Graph evaluation_graph(const Sizes &sizes, const std::vector<Parameter> &parameters,
                       std::int64_t text_length) {
  Graph g("evaluation");
  Weights weights = inputs_for(g, parameters);
  Value text = g.input("unseen", u8, {text_length});
  g.output("unseen_loss", loss_of(g, sizes, weights, text, sizes.unseen));
  return g;
}

Graph writing_graph(const Sizes &sizes, const std::vector<Parameter> &parameters) {
  Graph g("writing");
  Value context = g.input("context", u8, {sizes.writers, sizes.context});
  Value logits = cast(logits_of(sizes, inputs_for(g, parameters), context), f32);
  // The largest of logits with Gumbel noise is a draw from their softmax.
  Value noise = -log(-log(uniform(g.scalar("draw", u64), f32, logits.shape())));
  g.output("next", cast(argmax(logits + noise, 1), u8));
  return g;
}
