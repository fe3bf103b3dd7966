#include "trainer/trainer.h"

#include "trainer/adamw.h"

#include <algorithm>
#include <functional>

using namespace fuse;

namespace {

constexpr int kLines = 4000, kUnseenLines = 400;

CompileOptions on(Executor executor, std::vector<InPlacePair> in_place = {}) {
  CompileOptions options;
  options.executor = executor;
  options.in_place = std::move(in_place);
  return options;
}

/// Every row of the contexts one character further.
void shift_in(const std::vector<std::uint8_t> &next, std::vector<std::uint8_t> &contexts) {
  std::size_t length = contexts.size() / next.size();
  for (std::size_t row = 0; row < next.size(); ++row) {
    auto first = contexts.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::rotate(first, first + 1, first + static_cast<std::ptrdiff_t>(length));
    contexts[(row + 1) * length - 1] = next[row];
  }
}

}  // namespace

Trainer::Trainer(Executor executor, int steps, std::uint64_t seed)
    : steps_(steps),
      seed_(seed),
      text_(make_text(kLines, seed)),
      unseen_(make_text(kUnseenLines, seed + 1)),
      parameters_(parameters_of(sizes_, text_.alphabet.size())),
      products_(on(executor)),
      arguments_(products_.on_gpu()),
      training_(training_graph(sizes_, parameters_, text_.places.size()), on(executor), arguments_,
                std::ref(products_)),
      update_(adamw_graph(parameters_), on(executor, state_of(parameters_)), arguments_, {}),
      evaluation_(evaluation_graph(sizes_, parameters_, unseen_.places.size()), on(executor),
                  arguments_, std::ref(products_)),
      writing_(writing_graph(sizes_, parameters_), on(executor), arguments_, std::ref(products_)) {
  arguments_.tensor("text").copy_from_host(text_.places.data(), text_.places.size());
  arguments_.tensor("unseen").copy_from_host(unseen_.places.data(), unseen_.places.size());
  arguments_.set("seed", seed_);
  Program(initialization_graph(parameters_), on(executor), arguments_, {}).run();
}

void Trainer::step() {
  AdamWScalars scalars = adamw_scalars(done_, steps_);
  arguments_.set("draw", seed_ + static_cast<std::uint64_t>(done_++));
  arguments_.set("rate", scalars.rate);
  arguments_.set("first_correction", scalars.first_correction);
  arguments_.set("second_correction", scalars.second_correction);
  training_.run();
  update_.run();
}

float Trainer::train(int steps) {
  int calls = products_.calls();
  for (int i = 0; i < steps; ++i) step();
  products_in_a_step_ = (products_.calls() - calls) / steps;
  return scalar_at("loss");
}

float Trainer::unseen_loss() {
  arguments_.set("draw", seed_);
  evaluation_.run();
  return scalar_at("unseen_loss");
}

/// Waits for the programs before.
float Trainer::scalar_at(const std::string &name) {
  float value;
  arguments_.tensor(name).copy_to_host(&value, sizeof value);
  return value;
}

std::vector<std::string> Trainer::write(int characters) {
  auto rows = static_cast<std::size_t>(sizes_.writers);
  std::vector<std::uint8_t> context, next(rows);
  for (std::size_t row = 0; row < rows; ++row)
    context.insert(context.end(), text_.places.end() - sizes_.context, text_.places.end());
  std::vector<std::string> texts(rows);
  for (int i = 0; i < characters; ++i) {
    arguments_.tensor("context").copy_from_host(context.data(), context.size());
    arguments_.set("draw", seed_ + static_cast<std::uint64_t>(i));
    writing_.run();
    arguments_.tensor("next").copy_to_host(next.data(), rows);
    shift_in(next, context);
    for (std::size_t row = 0; row < rows; ++row) texts[row] += text_.alphabet[next[row]];
  }
  return texts;
}
