// A model and the programs that train it.
#pragma once

#include "trainer/model.h"
#include "trainer/products.h"
#include "trainer/program.h"
#include "trainer/text.h"

#include <fuse/jit.h>

#include <cstdint>
#include <string>
#include <vector>

class Trainer {
 public:
  Trainer(fuse::Executor executor, int steps, std::uint64_t seed);

  /// Runs the next steps and waits for them. Returns the loss of the last.
  float train(int steps);

  /// The loss of a text that the model does not learn from.
  float unseen_loss();

  /// Texts that the model writes, each from the beginning of a line.
  std::vector<std::string> write(int characters);

  const Text &text() const { return text_; }
  const fuse::Executable &training() const { return training_.executable(); }
  const fuse::Executable &update() const { return update_.executable(); }
  int products_in_a_step() const { return products_in_a_step_; }

 private:
  void step();
  float scalar_at(const std::string &name);

  int steps_, done_ = 0, products_in_a_step_ = 0;
  std::uint64_t seed_;
  Text text_, unseen_;
  Sizes sizes_;
  std::vector<Parameter> parameters_;
  Products products_;
  Arguments arguments_;
  Program training_, update_, evaluation_, writing_;
};
