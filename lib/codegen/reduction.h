// One reduce statement while it is emitted.
#pragma once

#include "codegen/emitter.h"
#include "ir/thread_parts.h"

#include <vector>

namespace fuse {

/// One reduce statement: where its group lies on the machine, and its states so far.
struct Emitter::Reduction {
  const Stmt *stmt;
  MonoidOps monoid;
  std::vector<Part> threads, blocks;
  std::vector<State> states = {};                // by slot of the results
  std::vector<State> accumulators = {};          // memory of the states of a loop
  std::vector<std::vector<Element>> group = {};  // by slot of the results: elements not folded yet
  std::vector<std::vector<State>> groups = {};   // likewise: states of the groups before
  std::vector<State> own = {};                   // terms: the thread's states
  std::vector<Values> terms = {};                // by slot of the results, then of the folded axes
};

}  // namespace fuse
