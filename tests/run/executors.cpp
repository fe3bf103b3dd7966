#include "run/executors.h"

#include "runtime/driver.h"

#include <cstdlib>
#include <string_view>

namespace fuse {

std::vector<Executor> executors() {
  const char *chosen = std::getenv("FUSE_TEST_EXECUTOR");
  std::string_view name = chosen ? chosen : "";
  if (name == "gpu") return {Executor::Gpu};
  if (name == "host" || !has_driver()) return {Executor::Host};
  return {Executor::Host, Executor::Gpu};
}

}  // namespace fuse
