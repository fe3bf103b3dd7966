#include "launch_report.h"

#include "ir/format.h"
#include "report_json.h"

namespace fuse::bench {

namespace {

using nlohmann::json;

json json_of(const LaunchResult &r) {
  json object = {{"name", r.row.name}, {"file", r.row.path}, {"sizes", r.row.sizes}};
  if (!r.error.empty())
    object["error"] = r.error;
  else
    object.update({{"kernels", r.cost.kernels},
                   {"launch_us", r.cost.launch},
                   {"bound_us", r.cost.bound},
                   {"bare_us", r.cost.bare},
                   {"replayed_us_per_kernel", r.cost.replayed}});
  return object;
}

}  // namespace

std::string launch_head() {
  std::string text;
  append(text, "{:<34} {:>3} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "row", "k", "launch us",
         "bound us", "bare us", "over bare", "replayed us");
  return text;
}

std::string launch_row(const LaunchResult &r) {
  std::string text;
  append(text, "{:<34} ", r.row.name);
  if (!r.error.empty()) return text + "FAILED: " + r.error + "\n";
  append(text, "{:>3} {:>10.2f} {:>10.2f} {:>10.2f} {:>+10.2f} {:>12.2f}\n", r.cost.kernels,
         r.cost.launch, r.cost.bound, r.cost.bare, r.cost.bound - r.cost.bare, r.cost.replayed);
  return text;
}

std::string launch_foot(const Machine &machine) {
  std::string text;
  append(text,
         "{}, driver {}, CUDA {}.{}\n"
         "launch, bound, bare: of the host, for all kernels of a launch; replayed: a kernel of a "
         "graph, with its work\n",
         machine.device, machine.driver, machine.cuda / 1000, machine.cuda % 1000 / 10);
  return text;
}

void write_launch_json(const std::string &path, const Machine &machine,
                       const std::vector<LaunchResult> &results) {
  json document = document_of(machine);
  document["launches"] = json::array();
  for (const LaunchResult &r : results) document["launches"].push_back(json_of(r));
  write_document(path, document);
}

}  // namespace fuse::bench
