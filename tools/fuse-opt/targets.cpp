// Words to Targets.
#include "targets.h"

#include "files.h"
#include "ir/suggest.h"
#include "ir/target_text.h"
#include "runtime/device.h"

#include <algorithm>
#include <filesystem>

using namespace fuse;

namespace {

Target resolve(const std::string &word) {
  if (word == "auto") return has_driver() ? target_of(0) : Target::named("host");
  std::vector<std::string> names = Target::names();
  if (std::find(names.begin(), names.end(), word) != names.end()) return Target::named(word);
  std::error_code error;
  if (std::filesystem::exists(word, error)) return parse_target(read_file(word), word);
  std::string known = "auto";
  for (const std::string &name : names) known += ", " + name;
  throw UsageError("--target: '" + word + "' is no file and none of " + known +
                   suggest(word, {names.begin(), names.end()}));
}

}  // namespace

std::vector<Target> targets_of(const Options &options) {
  if (options.targets.empty()) return {Target::named("h200")};
  std::vector<Target> targets;
  for (const std::string &word : options.targets) targets.push_back(resolve(word));
  return targets;
}

std::optional<Target> run_target(const Options &options) {
  if (options.targets.empty() || options.targets[0] == "auto") return {};
  return resolve(options.targets[0]);
}
