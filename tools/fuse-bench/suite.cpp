// JSON -> rows.
#include "suite.h"

#include "ir/format.h"

#include <fuse/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuse::bench {

namespace {

Bindings bindings_of(const nlohmann::json &object) {
  Bindings sizes;
  for (const auto &[name, value] : object.items()) sizes[name] = value.get<std::int64_t>();
  return sizes;
}

std::string limit_of(const nlohmann::json &limit) {
  return limit.is_string() ? limit.get<std::string>() : limit.dump();
}

/// 50304, "V", or one of them for each of some inputs.
std::map<std::string, std::string> limits_of(const nlohmann::json &limits) {
  if (!limits.is_object()) return {{"", limit_of(limits)}};
  std::map<std::string, std::string> by_input;
  for (const auto &[input, limit] : limits.items()) by_input[input] = limit_of(limit);
  return by_input;
}

Row row_of(const nlohmann::json &object, const std::filesystem::path &folder) {
  Row row;
  row.name = object.at("name");
  row.path = (folder / object.at("file").get<std::string>()).lexically_normal().string();
  if (object.contains("sizes")) row.sizes = bindings_of(object["sizes"]);
  if (object.contains("check")) {
    row.check = row.sizes;
    for (const auto &[name, size] : bindings_of(object["check"])) (*row.check)[name] = size;
  }
  row.repeats = object.value("repeats", false);
  row.grad = object.value("grad", std::vector<std::string>());
  if (object.contains("index_limit")) row.index_limits = limits_of(object["index_limit"]);
  return row;
}

}  // namespace

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || (file.peek(), file.bad())) throw Error(ErrorCode::Io, "cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string words_of(const Bindings &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    append(text, "{}{}={}", text.empty() ? "" : " ", name, size);
  return text.empty() ? "its own sizes" : text;
}

std::int64_t index_limit(const Row &row, const std::string &input, const Bindings &sizes) {
  constexpr std::int64_t kUsual = 100;
  auto limit = row.index_limits.find(input);
  if (limit == row.index_limits.end()) limit = row.index_limits.find("");
  if (limit == row.index_limits.end()) return kUsual;
  const std::string &text = limit->second;
  if (auto size = sizes.find(text); size != sizes.end()) return size->second;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw Error(ErrorCode::Parse, row.name + ": index_limit '" + text +
                                      "' is neither a positive number nor one of the sizes");
  return value;
}

std::vector<Row> read_suite(const std::string &path) {
  if (std::error_code error; !std::filesystem::exists(path, error))
    throw Error(ErrorCode::Io, "cannot read " + path +
                                   ": there is no such file; use --suite to name a list of rows");
  std::string text = read_file(path);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  try {
    std::vector<Row> rows;
    for (const nlohmann::json &object : nlohmann::json::parse(text))
      rows.push_back(row_of(object, folder));
    return rows;
  } catch (const nlohmann::json::exception &e) {
    throw Error(ErrorCode::Parse, path + ": " + e.what());
  }
}

std::vector<Row> select(const std::vector<Row> &rows, const std::vector<std::string> &filters) {
  std::vector<Row> chosen;
  for (const Row &row : rows) {
    auto matches = [&](const std::string &part) { return row.name.find(part) != row.name.npos; };
    if (filters.empty() || std::any_of(filters.begin(), filters.end(), matches))
      chosen.push_back(row);
  }
  return chosen;
}

}  // namespace fuse::bench
