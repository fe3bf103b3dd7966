// From names and files to tensors.
#include "arguments.h"

#include "files.h"
#include "ir/exact.h"
#include "ir/float_bits.h"
#include "ir/graph_data.h"
#include "ir/suggest.h"
#include "ir/symbol_size.h"
#include "npy.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <random>

using namespace fuse;

namespace {

/// Floats in (-2, 2), integers of one digit, which serve as indices too.
Tensor random_tensor(const std::string &name, DType type, const std::vector<std::int64_t> &shape,
                     std::mt19937_64 &random) {
  Tensor tensor = make_tensor(name, type, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    Literal literal = is_float(type)  ? float_literal(type, 4 * unit - 2)
                      : is_bool(type) ? int_literal(type, unit < 0.5)
                                      : int_literal(type, static_cast<int>(10 * unit));
    tensor.set_bits(i, literal.bits);
  }
  return tensor;
}

/// The number of a scalar argument; `path` is its text.
Tensor scalar_of(const std::string &name, DType type, const std::string &text) {
  char *end = nullptr;
  Tensor tensor(type, {});
  if (is_float(type)) {
    double value = std::strtod(text.c_str(), &end);
    Literal literal = float_literal(type, value);
    if (std::isfinite(value) && !std::isfinite(as_double(literal)))
      throw UsageError("--in: " + name + " is a scalar of " + std::string(to_string(type)) +
                       ", which does not hold " + text);
    tensor.set_bits(0, literal.bits);
  } else {
    long long value = std::strtoll(text.c_str(), &end, 0);
    auto bits = static_cast<std::uint64_t>(value);
    if (wrap_int(type, bits) != bits || (is_bool(type) && value != 0 && value != 1))
      throw UsageError("--in: " + name + " is a scalar of " + std::string(to_string(type)) +
                       ", which does not hold " + text);
    tensor.set_bits(0, bits);
  }
  if (end == text.c_str() || *end != '\0')
    throw UsageError("--in: " + name + " is a scalar: '" + text +
                     "' is no number and no .npy file");
  return tensor;
}

bool is_npy(const std::string &path) {
  constexpr std::string_view kEnding = ".npy";
  return path.size() >= kEnding.size() &&
         path.compare(path.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
}

std::string text_of(const std::vector<std::int64_t> &shape) {
  return to_string(Shape(shape.begin(), shape.end()));
}

/// Sizes of symbols that stand alone as an extent; what else they occur in is checked afterwards.
void solve_sizes(const Value &input, const Tensor &tensor, Bindings &sizes) {
  const Shape &shape = input.shape();
  for (std::size_t d = 0; d < std::min(shape.size(), tensor.shape.size()); ++d) {
    std::vector<Dim::Term> terms = shape[d].terms();
    if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].symbols.size() == 1)
      sizes.emplace(terms[0].symbols[0], tensor.shape[d]);
  }
}

void check_symbols(const GraphData &graph, const Bindings &sizes) {
  for (const auto &[name, size] : sizes)
    if (std::string why = objection_to_size(graph.symbols, name, size); !why.empty())
      refuse(ErrorCode::Shape, "--in: {}", why);
  for (const Symbol &s : graph.symbols)
    if (!sizes.count(s.name))
      throw UsageError("symbol " + s.name + " has no size: give it one, as --dim " + s.name + "=8");
}

void check_shape(const std::string &name, const std::string &path, const Tensor &tensor,
                 const std::vector<std::int64_t> &shape) {
  if (tensor.shape.size() != shape.size())
    refuse(ErrorCode::Shape, "{}: rank {} was given, {} needed: {} is {}", path,
           tensor.shape.size(), shape.size(), name, text_of(shape));
  if (tensor.shape != shape)
    refuse(ErrorCode::Shape, "{}: the shape is {}; {} is {} for these sizes", path,
           text_of(tensor.shape), name, text_of(shape));
}

}  // namespace

Tensor make_tensor(const std::string &name, DType type, const std::vector<std::int64_t> &shape) {
  const ExactArithmetic exact{ErrorCode::Shape, name};
  auto bytes = static_cast<std::int64_t>(size_of(type));
  for (std::int64_t n : shape) bytes = exact.mul(bytes, n);
  try {
    return Tensor(type, shape);
  } catch (const std::bad_alloc &) {
    refuse(ErrorCode::OutOfMemory,
           "{} of {}{} takes {} bytes, which cannot be had: use smaller sizes", name,
           to_string(type), text_of(shape), bytes);
  }
}

void check_dims(const Graph &graph, const Bindings &dims) {
  for (const auto &[name, size] : dims)
    if (std::string why = objection_to_size(graph.data().symbols, name, size); !why.empty())
      throw UsageError("--dim: " + why);
}

void check_names(const char *option, const std::map<std::string, std::string> &files,
                 const std::vector<std::string> &names) {
  for (const auto &[name, file] : files) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string known;
    for (const std::string &n : names) known += (known.empty() ? "" : ", ") + n;
    throw UsageError(std::string(option) + ": '" + name + "' is none of " + known +
                     suggest(name, {names.begin(), names.end()}));
  }
}

Tensor read_tensor(const std::string &name, const std::string &path, DType type,
                   const std::vector<std::int64_t> &shape) {
  Tensor tensor = to_tensor(parse_npy(read_file(path), path), type, path);
  check_shape(name, path, tensor, shape);
  return tensor;
}

RunArguments make_arguments(const Graph &graph, const Options &options) {
  const GraphData &g = graph.data();
  RunArguments run{{}, options.dims};
  std::vector<Value> values = graph.inputs();
  std::vector<std::string> names, files;
  for (Value v : values) names.push_back(g.attr<InputAttr>(v.index()).name);
  check_names("--in", options.in, names);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto given = options.in.find(names[i]);
    files.push_back(given == options.in.end() ? "" : given->second);
    run.inputs.emplace_back();
    bool is_number = g.attr<InputAttr>(values[i].index()).is_scalar && !is_npy(files[i]);
    if (files[i].empty()) continue;
    run.inputs[i] = is_number ? scalar_of(names[i], values[i].dtype(), files[i])
                              : to_tensor(parse_npy(read_file(files[i]), files[i]),
                                          values[i].dtype(), files[i]);
    solve_sizes(values[i], run.inputs[i], run.sizes);
  }
  check_symbols(g, run.sizes);
  std::mt19937_64 random(options.seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::int64_t> shape = evaluate(values[i].shape(), run.sizes);
    if (files[i].empty())
      run.inputs[i] = random_tensor(names[i], values[i].dtype(), shape, random);
    else
      check_shape(names[i], files[i], run.inputs[i], shape);
  }
  return run;
}
