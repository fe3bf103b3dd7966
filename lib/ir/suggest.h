// "; did you mean softmax?" for a mistyped name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuse {

/// Names the candidate nearest to the word, with the prefix before it, if one is near; else the
/// empty text.
std::string suggest(std::string_view word, const std::vector<std::string_view> &candidates,
                    std::string_view prefix = {});

}  // namespace fuse
