// Reading of recorded values; extern ops that are computed instead.
#include "models/recorded.h"

#include <fuse/error.h>

#include <cmath>
#include <cstring>
#include <fstream>

namespace fuse {

namespace {

std::size_t at(const Expected &x, std::int64_t i) {
  return x.splat ? 0 : static_cast<std::size_t>(i);
}

double error_at(const Expected &x, std::int64_t i) {
  return x.error.empty() ? 0 : x.error[at(x, i)];
}

/// Adds row r of `rows` to row position[r] of `table`, in any order: the bound is that of a sum in
/// f32 one after another.
Expected add_rows(const Expected &table, const Expected &position, const Expected &rows) {
  auto n = static_cast<std::size_t>(table.size());
  Expected sum;
  sum.dtype = table.dtype;
  sum.shape = table.shape;
  std::vector<double> magnitude(n);
  std::vector<int> terms(n);
  for (std::size_t i = 0; i < n; ++i) {
    sum.value.push_back(table.value[at(table, std::int64_t(i))]);
    sum.error.push_back(error_at(table, std::int64_t(i)));
    magnitude[i] = std::abs(sum.value[i]);
  }
  std::int64_t width = table.size() / table.shape[0];
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    auto row = static_cast<std::int64_t>(position.bits[at(position, i / width)]);
    if (row < 0) row += table.shape[0];
    auto to = static_cast<std::size_t>(row * width + i % width);
    double term = rows.value[at(rows, i)];
    sum.value[to] += term;
    sum.error[to] += error_at(rows, i);
    magnitude[to] += std::abs(term) + error_at(rows, i);
    ++terms[to];
  }
  for (std::size_t i = 0; i < n; ++i) sum.error[i] += terms[i] * magnitude[i] * 0x1p-24;
  return sum;
}

}  // namespace

void refuse(const std::string &message) { throw Error(ErrorCode::InvalidArgument, message); }

Recorded::Recorded(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("cannot read '" + path + "'");
  std::string name;
  std::size_t size = 0;
  while (file >> name >> size) {
    file.get();
    std::string &bytes = bytes_[name];
    bytes.resize(size);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
      refuse("'" + path + "' ends within the value of " + name);
  }
}

std::optional<Tensor> Recorded::find(const std::string &name, DType type,
                                     const std::vector<std::int64_t> &shape) const {
  auto found = bytes_.find(name);
  if (found == bytes_.end()) return std::nullopt;
  Tensor tensor(type, shape);
  if (found->second.size() != tensor.bytes.size())
    refuse(name + " has " + std::to_string(found->second.size()) + " bytes recorded, not " +
           std::to_string(tensor.bytes.size()));
  std::memcpy(tensor.bytes.data(), found->second.data(), tensor.bytes.size());
  return tensor;
}

Expected compute_extern(std::string_view name, std::span<const Expected> operands) {
  if (name.starts_with("aten.index_put") && operands.size() == 3)
    return add_rows(operands[0], operands[1], operands[2]);
  refuse("results of " + std::string(name) + " were not recorded");
}

}  // namespace fuse
