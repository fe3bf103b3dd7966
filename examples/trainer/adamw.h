// The optimiser: AdamW for all parameters in one graph.
#pragma once

#include "trainer/model.h"

#include <fuse/jit.h>

#include <cstdint>
#include <vector>

/// A step. Masters and moments are f32 and written over what they were; the model gets bf16 copies.
fuse::Graph adamw_graph(const std::vector<Parameter> &parameters);

/// What a step writes over its inputs.
std::vector<fuse::InPlacePair> state_of(const std::vector<Parameter> &parameters);

/// The scalars of step 0, 1, ...: what changes from step to step.
struct AdamWScalars {
  float rate, first_correction, second_correction;
};
AdamWScalars adamw_scalars(int step, int steps);
