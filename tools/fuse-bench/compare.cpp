#include "compare.h"

#include "ir/format.h"

#include <fuse/error.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

namespace fuse::bench {

namespace {

using nlohmann::json;

struct Pair {
  std::string name;
  double then, now;  // fractions of copy

  double gain() const { return now / then; }
};

std::vector<Pair> in_both(const std::vector<Measured> &then, const std::vector<Measured> &now) {
  std::map<std::string, double> old;
  for (const Measured &m : then) old[m.name] = m.fraction;
  std::vector<Pair> pairs;
  for (const Measured &m : now)
    if (auto it = old.find(m.name); it != old.end())
      pairs.push_back({m.name, it->second, m.fraction});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair &a, const Pair &b) { return a.gain() < b.gain(); });
  return pairs;
}

/// Rows of a that b lacks.
std::string missing(const std::vector<Measured> &a, const std::vector<Measured> &b) {
  std::string names;
  for (const Measured &m : a) {
    bool is_there =
        std::any_of(b.begin(), b.end(), [&](const Measured &o) { return o.name == m.name; });
    if (!is_there) names += (names.empty() ? "" : ", ") + m.name;
  }
  return names;
}

double geometric_mean(const std::vector<Pair> &pairs) {
  double sum = 0;
  for (const Pair &p : pairs) sum += std::log(p.gain());
  return pairs.empty() ? 1 : std::exp(sum / static_cast<double>(pairs.size()));
}

json parse_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::Io, "cannot read " + path);
  json document = json::parse(file, nullptr, false);
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array())
    throw Error(ErrorCode::Parse,
                path + " holds no results: --json of fuse-bench writes such a file");
  return document;
}

}  // namespace

std::vector<Measured> read_measured(const std::string &path) {
  std::vector<Measured> rows;
  json document = parse_file(path);
  for (const json &row : document["rows"]) {
    if (!row.is_object() || !row.contains("name") || !row["name"].is_string()) continue;
    double fraction = row.contains("fraction_of_copy") && row["fraction_of_copy"].is_number()
                          ? row["fraction_of_copy"].get<double>()
                          : 0;
    if (fraction > 0) rows.push_back({row["name"].get<std::string>(), fraction});
  }
  if (rows.empty()) throw Error(ErrorCode::Parse, path + " has no row with a time");
  return rows;
}

std::string comparison(const std::vector<Measured> &then, const std::vector<Measured> &now) {
  std::vector<Pair> pairs = in_both(then, now);
  std::string text;
  append(text, "{:<34} {:>7} {:>7} {:>7}\n", "row", "then %", "now %", "speed");
  for (const Pair &p : pairs)
    append(text, "{:<34} {:>7.1f} {:>7.1f} {:>6.2f}x\n", p.name, 100 * p.then, 100 * p.now,
           p.gain());
  append(text, "{} rows in both, {:.3f} times as fast (geometric mean)\n", pairs.size(),
         geometric_mean(pairs));
  if (std::string names = missing(then, now); !names.empty())
    append(text, "only then: {}\n", names);
  if (std::string names = missing(now, then); !names.empty()) append(text, "only now: {}\n", names);
  return text;
}

}  // namespace fuse::bench
