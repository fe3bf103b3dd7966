// Functions that generated host code calls: approximations of the hardware, modelled as exact
// values rounded once to f32.
#pragma once

#include <string_view>

namespace fuse {

struct HostFunction {
  std::string_view name;  // of the symbol in the module
  void *address;
};

/// All emulators, for the linker.
struct HostFunctions {
  const HostFunction *first;
  const HostFunction *last;
  const HostFunction *begin() const { return first; }
  const HostFunction *end() const { return last; }
};
HostFunctions host_functions();

}  // namespace fuse
