// Graphs of tensor expressions: lazy values, operators and functions that record operations.
//
// Shapes and dtypes are checked where a value is built, so an Error points at the user's line. A
// Graph belongs to one thread at a time. Values are small handles into their graph and die with it.
#pragma once

#include <fuse/dtype.h>
#include <fuse/error.h>
#include <fuse/shape.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

FUSE_BEGIN_NAMESPACE

struct GraphData;  // the nodes, in lib/ir/graph_data.h

enum class Op : unsigned char {
#define FUSE_OP(name, text, kind, types, traits, ulp, doc) name,
#include <fuse/ops.def>
};

/// Bounds and divisor of a symbolic extent, checked when sizes are bound.
struct SymbolBounds {
  std::int64_t min = 1;
  std::int64_t max = INT64_C(1) << 40;
  std::int64_t divisor = 1;
};

/// One value of a graph: a tensor that some operation will produce.
class FUSE_API Value {
 public:
  Value() = default;

  bool valid() const noexcept { return graph_ != nullptr; }
  DType dtype() const;
  const Shape &shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  std::uint32_t index() const noexcept { return index_; }
  GraphData *graph() const noexcept { return graph_; }

  /// Store this value in memory whatever the cost model says; it is rounded to its dtype there.
  Value keep() const;

  /// Name shown in texts and reports; unique among the values and inputs of the graph.
  Value named(std::string_view name) const;

  friend bool operator==(Value a, Value b) noexcept {
    return a.graph_ == b.graph_ && a.index_ == b.index_;
  }
  friend bool operator!=(Value a, Value b) noexcept { return !(a == b); }

 private:
  friend struct GraphData;
  Value(GraphData *graph, std::uint32_t index) : graph_(graph), index_(index) {}

  GraphData *graph_ = nullptr;
  std::uint32_t index_ = 0;
};

/// An operand of an expression: a value, or a literal that takes the other operand's compute type
/// (f32 for 16- and 8-bit floats). Carries the place of the expression.
class FUSE_API Operand {
 public:
  Operand(Value value, SourceLocation where = SourceLocation::current())
      : value_(value), where_(where) {}
  Operand(double literal, SourceLocation where = SourceLocation::current())
      : literal_(literal), kind_(Kind::Real), where_(where) {}
  Operand(float literal, SourceLocation where = SourceLocation::current())
      : literal_(literal), kind_(Kind::Real), where_(where) {}
  Operand(int literal, SourceLocation where = SourceLocation::current())
      : integer_(literal), kind_(Kind::Integer), where_(where) {}
  Operand(std::int64_t literal, SourceLocation where = SourceLocation::current())
      : integer_(literal), kind_(Kind::Integer), where_(where) {}
  Operand(bool literal, SourceLocation where = SourceLocation::current())
      : integer_(literal), kind_(Kind::Boolean), where_(where) {}

  enum class Kind : unsigned char { Value, Real, Integer, Boolean };
  Kind kind() const noexcept { return kind_; }
  Value value() const noexcept { return value_; }
  double real() const noexcept { return literal_; }
  std::int64_t integer() const noexcept { return integer_; }
  SourceLocation where() const noexcept { return where_; }

 private:
  Value value_;
  double literal_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_ = Kind::Value;
  SourceLocation where_;
};

/// A graph under construction or finished. Movable; clone() copies.
class FUSE_API Graph {
 public:
  explicit Graph(std::string_view name = "graph");
  ~Graph();
  Graph(Graph &&) noexcept;
  Graph &operator=(Graph &&) noexcept;
  Graph clone() const;

  /// A symbolic extent. The same name gives the same symbol; other bounds for it are an error.
  Dim dim(std::string_view name, SymbolBounds bounds = {});

  /// A tensor argument. Names of inputs and outputs are unique within the graph.
  Value input(std::string_view name, DType type, const Shape &shape,
              SourceLocation where = SourceLocation::current());

  /// A scalar argument, passed by value at launch: what a user changes from call to call.
  Value scalar(std::string_view name, DType type, SourceLocation where = SourceLocation::current());

  /// A literal of the given dtype, broadcast to the shape.
  Value constant(double value, DType type, const Shape &shape = {},
                 SourceLocation where = SourceLocation::current());
  Value constant(std::int64_t value, DType type, const Shape &shape = {},
                 SourceLocation where = SourceLocation::current());

  /// Positions 0, 1, ... along an axis of the shape.
  Value iota(DType type, const Shape &shape, int axis = 0,
             SourceLocation where = SourceLocation::current());

  /// Results of an operation that someone else runs; never fused, recomputed or merged.
  struct TensorType {
    DType dtype;
    Shape shape;
  };
  std::vector<Value> extern_op(std::string_view name, const std::vector<Value> &operands,
                               const std::vector<TensorType> &results,
                               SourceLocation where = SourceLocation::current());

  void output(std::string_view name, Value value, SourceLocation where = SourceLocation::current());

  std::string_view name() const noexcept;
  std::vector<Value> inputs() const;
  std::vector<Value> outputs() const;

  GraphData &data() noexcept { return *data_; }
  const GraphData &data() const noexcept { return *data_; }

 private:
  std::unique_ptr<GraphData> data_;
};

/// The graph in the text format; parse(print(g)) == g.
FUSE_API std::string to_string(const Graph &graph);

/// Reads one graph. Errors read "file:line:col: error: ..." and have the code Parse, or, where an
/// operation does not take its operands, the code that its C++ function throws.
FUSE_API Graph parse(std::string_view text, std::string_view file = "<text>");

/// Same nodes, names, symbols and outputs.
FUSE_API bool operator==(const Graph &a, const Graph &b);

// --- Elementwise functions, one for each row of ops.def; shapes broadcast as in NumPy ------------

FUSE_API Value neg(Operand x);
FUSE_API Value abs(Operand x);
FUSE_API Value sign(Operand x);
FUSE_API Value floor(Operand x);
FUSE_API Value ceil(Operand x);
FUSE_API Value round(Operand x);
FUSE_API Value trunc(Operand x);
FUSE_API Value sqrt(Operand x);
FUSE_API Value logical_not(Operand x);
FUSE_API Value rsqrt(Operand x);
FUSE_API Value cbrt(Operand x);
FUSE_API Value exp(Operand x);
FUSE_API Value exp2(Operand x);
FUSE_API Value expm1(Operand x);
FUSE_API Value log(Operand x);
FUSE_API Value log2(Operand x);
FUSE_API Value log1p(Operand x);
FUSE_API Value sin(Operand x);
FUSE_API Value cos(Operand x);
FUSE_API Value tan(Operand x);
FUSE_API Value asin(Operand x);
FUSE_API Value acos(Operand x);
FUSE_API Value atan(Operand x);
FUSE_API Value sinh(Operand x);
FUSE_API Value cosh(Operand x);
FUSE_API Value tanh(Operand x);
FUSE_API Value asinh(Operand x);
FUSE_API Value acosh(Operand x);
FUSE_API Value atanh(Operand x);
FUSE_API Value erf(Operand x);
FUSE_API Value erfc(Operand x);
FUSE_API Value erfinv(Operand x);
FUSE_API Value lgamma(Operand x);
FUSE_API Value digamma(Operand x);
FUSE_API Value sigmoid(Operand x);
FUSE_API Value isnan(Operand x);
FUSE_API Value isinf(Operand x);
FUSE_API Value isfinite(Operand x);

FUSE_API Value add(Operand a, Operand b);
FUSE_API Value sub(Operand a, Operand b);
FUSE_API Value mul(Operand a, Operand b);
FUSE_API Value div(Operand a, Operand b);
FUSE_API Value floordiv(Operand a, Operand b);
FUSE_API Value mod(Operand a, Operand b);
FUSE_API Value rem(Operand a, Operand b);
FUSE_API Value pow(Operand a, Operand b);
FUSE_API Value min(Operand a, Operand b);
FUSE_API Value max(Operand a, Operand b);
FUSE_API Value atan2(Operand a, Operand b);
FUSE_API Value bit_and(Operand a, Operand b);
FUSE_API Value bit_or(Operand a, Operand b);
FUSE_API Value bit_xor(Operand a, Operand b);
FUSE_API Value shl(Operand a, Operand b);
FUSE_API Value shr(Operand a, Operand b);
FUSE_API Value eq(Operand a, Operand b);
FUSE_API Value ne(Operand a, Operand b);
FUSE_API Value lt(Operand a, Operand b);
FUSE_API Value le(Operand a, Operand b);
FUSE_API Value gt(Operand a, Operand b);
FUSE_API Value ge(Operand a, Operand b);

FUSE_API Value fma(Operand a, Operand b, Operand c);
FUSE_API Value select(Operand a, Operand b, Operand c);

FUSE_API Value cast(Operand x, DType type);
FUSE_API Value cast_sat(Operand x, DType type);
FUSE_API Value bitcast(Operand x, DType type);

inline Value operator+(Operand a, Operand b) { return add(a, b); }
inline Value operator-(Operand a, Operand b) { return sub(a, b); }
inline Value operator*(Operand a, Operand b) { return mul(a, b); }
inline Value operator/(Operand a, Operand b) { return div(a, b); }
inline Value operator-(Operand x) { return neg(x); }
inline Value operator<(Operand a, Operand b) { return lt(a, b); }
inline Value operator<=(Operand a, Operand b) { return le(a, b); }
inline Value operator>(Operand a, Operand b) { return gt(a, b); }
inline Value operator>=(Operand a, Operand b) { return ge(a, b); }
inline Value operator&(Operand a, Operand b) { return bit_and(a, b); }
inline Value operator|(Operand a, Operand b) { return bit_or(a, b); }
inline Value operator^(Operand a, Operand b) { return bit_xor(a, b); }
inline Value operator~(Operand x) { return logical_not(x); }

// --- Views: they move elements and cost nothing by themselves -----------------------------------

/// Repeats size-1 and missing leading axes up to the shape.
FUSE_API Value broadcast(Operand x, const Shape &shape);
/// The same elements in row-major order. One static extent may be -1: what is left.
FUSE_API Value reshape(Operand x, const Shape &shape);
/// Axis i of the result is axis permutation[i] of x.
FUSE_API Value transpose(Operand x, const std::vector<int> &permutation);
/// Elements start, start + step, ... below stop of one axis; step at least 1.
FUSE_API Value slice(Operand x, int axis, Dim start, Dim stop, std::int64_t step = 1);
FUSE_API Value flip(Operand x, const std::vector<int> &axes);
/// lo and hi elements of the value before and after each axis; not negative.
FUSE_API Value pad(Operand x, const std::vector<std::int64_t> &lo,
                   const std::vector<std::int64_t> &hi, Operand value = 0.0);
FUSE_API Value concat(const std::vector<Value> &parts, int axis,
                      SourceLocation where = SourceLocation::current());
/// Replaces an axis of x by the axes of the integer index. Out of range gives 0 and reads nothing.
FUSE_API Value gather(Operand x, Value index, int axis = 0);

// --- Reductions over axes (negative axes count from the end); `keep` leaves extent 1 ------------

FUSE_API Value sum(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value prod(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value reduce_max(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value reduce_min(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value any(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value all(Operand x, const std::vector<int> &axes, bool keep = false);
FUSE_API Value argmax(Operand x, int axis, bool keep = false);
FUSE_API Value argmin(Operand x, int axis, bool keep = false);

FUSE_END_NAMESPACE
