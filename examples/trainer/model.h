// The model as graphs: a multilayer perceptron that reads some characters and guesses the next.
// Values are bf16. What kernels compute between them is f32, as norms and sums, and so is the loss.
#pragma once

#include <fuse/jit.h>

#include <cstdint>
#include <string>
#include <vector>

/// A tensor that is learnt: a bf16 input of the model's graphs, by its name.
struct Parameter {
  std::string name;
  fuse::Shape shape;
  double deviation;  // of its first values, which are normal
  double mean = 0;   // of these
};

struct Sizes {
  std::int64_t context = 12;   // characters that the model reads
  std::int64_t embedding = 8;  // numbers that stand for each of them
  std::int64_t width = 64;     // of the stream that layers add to
  std::int64_t hidden = 128;   // of the layer
  std::int64_t batch = 64;     // places in the text that a step learns from
  std::int64_t unseen = 4096;  // places that are judged by
  std::int64_t writers = 8;    // texts that are written at a time
};

std::vector<Parameter> parameters_of(const Sizes &sizes, std::int64_t alphabet);

/// Parameters from a seed: the masters in f32, and the copies in bf16 that the model reads.
fuse::Graph initialization_graph(const std::vector<Parameter> &parameters);

/// The mean loss of a batch, "loss", and its derivatives by the parameters: "d.<name>". Where the
/// batch lies in the text is decided on the device, by the scalar "draw".
fuse::Graph training_graph(const Sizes &sizes, const std::vector<Parameter> &parameters,
                           std::int64_t text_length);

/// The same loss alone, of a batch from another text: "unseen_loss" of "unseen".
fuse::Graph evaluation_graph(const Sizes &sizes, const std::vector<Parameter> &parameters,
                             std::int64_t text_length);

/// "next": characters behind the rows of "context", drawn by their probabilities.
fuse::Graph writing_graph(const Sizes &sizes, const std::vector<Parameter> &parameters);
