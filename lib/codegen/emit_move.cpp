// Moves from layout to layout through shared memory.
#include "codegen/emitter.h"
#include "ir/format.h"

namespace fuse {

void Emitter::emit_move(const Stmt &) {
  fail(ErrorCode::Unsupported, "move");
}

void Emitter::emit_scan(const Stmt &) {
  fail(ErrorCode::Unsupported, "scan");
}

}  // namespace fuse
