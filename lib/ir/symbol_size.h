// Whether symbols take the sizes that a caller gives them.
#pragma once

#include "ir/graph_data.h"

#include <string>
#include <vector>

namespace fuse {

/// Why no symbol of the name takes the size; empty where one does.
std::string objection_to_size(const std::vector<Symbol> &symbols, const std::string &name,
                              std::int64_t size);

}  // namespace fuse
