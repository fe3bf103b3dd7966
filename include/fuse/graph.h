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
#include <type_traits>
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
  Value named(std::string_view name, SourceLocation where = SourceLocation::current()) const;

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
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  Operand(T literal, SourceLocation where = SourceLocation::current())
      : integer_(static_cast<std::int64_t>(literal)),
        kind_(std::is_same_v<T, bool> ? Kind::Boolean
              : std::is_unsigned_v<T> ? Kind::Unsigned
                                      : Kind::Integer),
        where_(where) {}

  enum class Kind : unsigned char { Value, Real, Integer, Boolean, Unsigned };
  Kind kind() const noexcept { return kind_; }
  Value value() const noexcept { return value_; }
  double real() const noexcept { return literal_; }
  std::int64_t integer() const noexcept { return integer_; }  ///< Unsigned: its bits
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

  /// A symbolic extent: `auto b = g.dim("B", {.min = 1, .max = 1 << 20})`. The same name gives the
  /// same symbol. Throws InvalidArgument for other bounds than it has, for bounds that no size
  /// meets, and for a name that is no identifier.
  Dim dim(std::string_view name, SymbolBounds bounds = {},
          SourceLocation where = SourceLocation::current());

  /// A tensor argument of any dtype, rank 0 to 8: `g.input("x", bf16, {b, 4096})`. Names of inputs
  /// and outputs are unique within the graph; InvalidArgument otherwise. Throws Shape for more
  /// axes.
  Value input(std::string_view name, DType type, const Shape &shape,
              SourceLocation where = SourceLocation::current());

  /// A scalar argument, passed by value at launch: what a user changes from call to call, as a
  /// learning rate. Rank 0, any dtype: `auto lr = g.scalar("lr", f32)`. Errors as input.
  Value scalar(std::string_view name, DType type, SourceLocation where = SourceLocation::current());

  /// A literal of the given dtype, broadcast to the shape: `g.constant(0.5, f32)`. Reals are
  /// rounded to a float dtype, integers wrap in an integer dtype. Throws DType for a real that an
  /// integer dtype does not hold and InvalidArgument for a Value.
  Value constant(Operand value, DType type, const Shape &shape = {});

  /// Positions 0, 1, ... along an axis of the shape, in a float or integer dtype:
  /// `g.iota(i64, {b, 4096}, 1)`. Throws DType for bool and
  /// InvalidArgument for an axis that the shape does not have.
  Value iota(DType type, const Shape &shape, int axis = 0,
             SourceLocation where = SourceLocation::current());

  /// Results of an operation that someone else runs (LaunchOptions::run_extern); never fused,
  /// recomputed or merged: `g.extern_op("mm", {a, b}, {{bf16, {n, m}}})[0]`. Throws InvalidArgument
  /// for operands of another graph and for no results.
  struct TensorType {
    DType dtype;
    Shape shape;
  };
  std::vector<Value> extern_op(std::string_view name, const std::vector<Value> &operands,
                               const std::vector<TensorType> &results,
                               SourceLocation where = SourceLocation::current());

  /// A result of the graph, in the order of the calls: `g.output("y", y)`. One value may be several
  /// outputs. Throws InvalidArgument for a name that is taken and for a value of another graph.
  void output(std::string_view name, Value value, SourceLocation where = SourceLocation::current());

  std::string_view name() const noexcept;
  /// Tensors and scalars in argument order.
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

// --- Elementwise functions, one for each row of ops.def ------------------------------------------
//
// Floats are f16, bf16, f32 and f64. Shapes broadcast as in NumPy: bf16[B, 4096] and bf16[4096]
// give bf16[B, 4096]. Operands have one dtype, which the result has too; comparisons and tests give
// bool. A literal takes the compute type of the other operand: `0.5 * x` with x of bf16 multiplies
// in f32 and rounds once. 16-bit results are the f32 result rounded once. docs/numerics.md has the
// meaning of every edge.
//
// All throw, at the caller's line, Error{Shape} for shapes that do not broadcast, Error{DType} for
// dtypes that differ or that the function does not take, and Error{InvalidArgument} for operands
// that are no values or of two graphs. Angles are radians.
//
//   Value y = select(gt(x, 0.0), x, expm1(x));   // elu of f32[B, 4096]

/// -x. Floats and integers.
FUSE_API Value neg(Operand x);
/// |x|. Floats and integers.
FUSE_API Value abs(Operand x);
/// -1, 0 or 1 by sign; NaN stays NaN, -0 stays -0. Floats and integers.
FUSE_API Value sign(Operand x);
/// Largest integer not above x. Floats.
FUSE_API Value floor(Operand x);
/// Smallest integer not below x. Floats.
FUSE_API Value ceil(Operand x);
/// Nearest integer, ties to even. Floats.
FUSE_API Value round(Operand x);
/// Integer part. Floats.
FUSE_API Value trunc(Operand x);
/// Square root. Floats.
FUSE_API Value sqrt(Operand x);
/// Bitwise complement; logical for bool. Integers and bool.
FUSE_API Value logical_not(Operand x);
/// 1 / sqrt(x). Floats; f32 within 2 ulp.
FUSE_API Value rsqrt(Operand x);
/// Cube root. Floats; f32 within 1 ulp.
FUSE_API Value cbrt(Operand x);
/// e^x. Floats; f32 within 2 ulp.
FUSE_API Value exp(Operand x);
/// 2^x. Floats; f32 within 2 ulp.
FUSE_API Value exp2(Operand x);
/// e^x - 1. Floats; f32 within 1 ulp.
FUSE_API Value expm1(Operand x);
/// Natural logarithm. Floats; f32 within 1 ulp.
FUSE_API Value log(Operand x);
/// Logarithm to base 2. Floats; f32 within 1 ulp.
FUSE_API Value log2(Operand x);
/// log(1 + x). Floats; f32 within 1 ulp.
FUSE_API Value log1p(Operand x);
/// Sine of radians. Floats; f32 within 2 ulp.
FUSE_API Value sin(Operand x);
/// Cosine of radians. Floats; f32 within 2 ulp.
FUSE_API Value cos(Operand x);
/// Tangent of radians. Floats; f32 within 4 ulp.
FUSE_API Value tan(Operand x);
/// Arc sine in radians. Floats; f32 within 2 ulp.
FUSE_API Value asin(Operand x);
/// Arc cosine in radians. Floats; f32 within 2 ulp.
FUSE_API Value acos(Operand x);
/// Arc tangent in radians. Floats; f32 within 2 ulp.
FUSE_API Value atan(Operand x);
/// Hyperbolic sine. Floats; f32 within 3 ulp.
FUSE_API Value sinh(Operand x);
/// Hyperbolic cosine. Floats; f32 within 2 ulp.
FUSE_API Value cosh(Operand x);
/// Hyperbolic tangent. Floats; f32 within 2 ulp.
FUSE_API Value tanh(Operand x);
/// Inverse hyperbolic sine. Floats; f32 within 3 ulp.
FUSE_API Value asinh(Operand x);
/// Inverse hyperbolic cosine. Floats; f32 within 4 ulp.
FUSE_API Value acosh(Operand x);
/// Inverse hyperbolic tangent. Floats; f32 within 3 ulp.
FUSE_API Value atanh(Operand x);
/// Error function. Floats; f32 within 2 ulp.
FUSE_API Value erf(Operand x);
/// 1 - erf(x). Floats; f32 within 4 ulp.
FUSE_API Value erfc(Operand x);
/// Inverse of erf. Floats; f32 within 2 ulp.
FUSE_API Value erfinv(Operand x);
/// log |gamma(x)|. Floats; f32 within 6 ulp.
FUSE_API Value lgamma(Operand x);
/// Derivative of lgamma. Floats; f32 within 8 ulp.
FUSE_API Value digamma(Operand x);
/// 1 / (1 + e^-x). Floats; f32 within 4 ulp.
FUSE_API Value sigmoid(Operand x);
/// x is NaN. Any dtype.
FUSE_API Value isnan(Operand x);
/// x is +inf or -inf. Any dtype.
FUSE_API Value isinf(Operand x);
/// x is neither NaN nor infinite. Any dtype.
FUSE_API Value isfinite(Operand x);

/// a + b. Floats and integers, which wrap.
FUSE_API Value add(Operand a, Operand b);
/// a - b. Floats and integers.
FUSE_API Value sub(Operand a, Operand b);
/// a * b. Floats and integers, which wrap.
FUSE_API Value mul(Operand a, Operand b);
/// a / b; integers truncate towards zero. Floats and integers.
FUSE_API Value div(Operand a, Operand b);
/// floor(a / b). Floats and integers.
FUSE_API Value floordiv(Operand a, Operand b);
/// a - b * floordiv(a, b): the divisor's sign. Floats and integers.
FUSE_API Value mod(Operand a, Operand b);
/// a - b * trunc(a / b): the dividend's sign. Floats and integers.
FUSE_API Value rem(Operand a, Operand b);
/// a^b; integers by repeated multiplication. Floats and integers; f32 within 4 ulp.
FUSE_API Value pow(Operand a, Operand b);
/// The lesser operand; NaN if one is, -0 below +0. Any dtype.
FUSE_API Value min(Operand a, Operand b);
/// The greater operand; NaN if one is, -0 below +0. Any dtype.
FUSE_API Value max(Operand a, Operand b);
/// Angle of (b, a) in radians. Floats; f32 within 3 ulp.
FUSE_API Value atan2(Operand a, Operand b);
/// Bitwise, or logical for bool. Integers and bool.
FUSE_API Value bit_and(Operand a, Operand b);
FUSE_API Value bit_or(Operand a, Operand b);
FUSE_API Value bit_xor(Operand a, Operand b);
/// a << b. Integers.
FUSE_API Value shl(Operand a, Operand b);
/// a >> b; signed types keep the sign. Integers.
FUSE_API Value shr(Operand a, Operand b);
/// a = b; false where one is NaN. Any dtype.
FUSE_API Value eq(Operand a, Operand b);
/// Not eq: true where one is NaN. Any dtype.
FUSE_API Value ne(Operand a, Operand b);
/// a < b. Any dtype.
FUSE_API Value lt(Operand a, Operand b);
/// a <= b. Any dtype.
FUSE_API Value le(Operand a, Operand b);
/// a > b. Any dtype.
FUSE_API Value gt(Operand a, Operand b);
/// a >= b. Any dtype.
FUSE_API Value ge(Operand a, Operand b);

/// a * b + c, rounded once. Floats.
FUSE_API Value fma(Operand a, Operand b, Operand c);
/// b where a, else c. Any dtype.
FUSE_API Value select(Operand a, Operand b, Operand c);

/// x in another dtype, rounded to nearest, ties to even; any dtypes. Floats to integers saturate
/// and NaN gives 0; integers wrap; f8e4m3 has NaN beyond its range: `cast(x, f32)`.
FUSE_API Value cast(Operand x, DType type);
/// The same, but what is beyond the range of the dtype becomes its largest or least finite value.
FUSE_API Value cast_sat(Operand x, DType type);
/// The bits of x as a dtype of the same width, else Error{DType}: `bitcast(x, u32)` of f32.
FUSE_API Value bitcast(Operand x, DType type);

// Operators are the functions of their names; `==` and `!=` compare handles: there are eq and ne.
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

// --- Views: they move elements and cost nothing by themselves ------------------------------------
//
// Any dtype, rank 0 to 8, static and symbolic extents. Axes count from 0; negative ones count from
// the end. All throw, at the caller's line, Error{Shape} for shapes and bounds that do not fit and
// Error{InvalidArgument} for axes that x does not have or that repeat, and for empty Values.

/// Repeats size-1 and missing leading axes up to the shape: `broadcast(w, {b, 4096})` of f32[4096].
FUSE_API Value broadcast(Operand x, const Shape &shape);

/// The same elements in row-major order: `reshape(x, {b, 32, -1})` of f32[B, 4096] is
/// f32[B, 32, 128]. One static extent may be -1: what is left. The numbers of elements must be
/// equal as polynomials in the symbols.
FUSE_API Value reshape(Operand x, const Shape &shape);

/// Axis i of the result is axis permutation[i] of x: `transpose(x, {1, 0})`.
FUSE_API Value transpose(Operand x, const std::vector<int> &permutation);

/// Elements start, start + step, ... below stop of one axis; step at least 1, bounds within the
/// extent: `slice(x, 1, 0, 64)` is the first half of f32[B, 128].
FUSE_API Value slice(Operand x, int axis, Dim start, Dim stop, std::int64_t step = 1);

/// Reverses the axes: `flip(x, {0})`.
FUSE_API Value flip(Operand x, const std::vector<int> &axes);

/// lo and hi elements of the value before and after each axis; not negative:
/// `pad(x, {0, 1}, {0, 1})` of f32[B, 8] is f32[B, 10]. The value is a literal or of the dtype of
/// x.
FUSE_API Value pad(Operand x, const std::vector<std::int64_t> &lo,
                   const std::vector<std::int64_t> &hi, Operand value = 0.0);

/// The parts one after another along an axis. Their other extents and their dtypes are equal:
/// `concat({a, b}, 1)` of f32[B, 64] and f32[B, 32] is f32[B, 96].
FUSE_API Value concat(const std::vector<Value> &parts, int axis,
                      SourceLocation where = SourceLocation::current());

/// Replaces an axis of x by the axes of the integer index: `gather(table, ids)` of bf16[50257, 768]
/// and i64[B, T] is bf16[B, T, 768]. An index out of range, negative ones too, gives 0 and reads
/// nothing.
FUSE_API Value gather(Operand x, Value index, int axis = 0);

// --- Reductions ----------------------------------------------------------------------------------
//
// Over one or more axes, each once; negative ones count from the end. `keep` leaves extent 1, else
// the axes go: sum(x, {1}) of bf16[B, 4096] is bf16[B], with `keep` bf16[B, 1]. They throw, at the
// caller's line, Error{InvalidArgument} for axes that x does not have or that repeat, and
// Error{DType} for a dtype that they do not take.

/// Sum, 0 of no elements. Floats and integers; 16-bit floats accumulate in f32 and round once,
/// integers wrap in their dtype.
FUSE_API Value sum(Operand x, const std::vector<int> &axes, bool keep = false);
/// Product, 1 of no elements. Dtypes as sum.
FUSE_API Value prod(Operand x, const std::vector<int> &axes, bool keep = false);
/// Largest element; NaN where one is, +0 above -0. Any dtype. Error{Shape} for an extent of 0.
FUSE_API Value reduce_max(Operand x, const std::vector<int> &axes, bool keep = false);
/// Least element; NaN where one is, -0 below +0. Any dtype. Error{Shape} for an extent of 0.
FUSE_API Value reduce_min(Operand x, const std::vector<int> &axes, bool keep = false);
/// Whether some element is true; false of none. bool.
FUSE_API Value any(Operand x, const std::vector<int> &axes, bool keep = false);
/// Whether every element is true; true of none. bool.
FUSE_API Value all(Operand x, const std::vector<int> &axes, bool keep = false);
/// i64 position of the largest element along one axis: the first of equal ones, NaN above all. Any
/// dtype. Error{Shape} for an extent of 0.
FUSE_API Value argmax(Operand x, int axis, bool keep = false);
/// i64 position of the least element along one axis: the first of equal ones, NaN below all.
FUSE_API Value argmin(Operand x, int axis, bool keep = false);

FUSE_END_NAMESPACE
