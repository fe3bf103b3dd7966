// The op table as data: what ops.def says of each operation.
#pragma once

#include <fuse/graph.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace fuse {

enum class OpKind : std::uint8_t {
  Leaf,
  Random,
  Unary,
  Binary,
  Ternary,
  Compare,
  Test,
  Convert,
  View,
  Reduce,
  Scan,
  Extern,
  Gradient,
};

enum class OpTypes : std::uint8_t { Float, Int, U32, Arith, IntBool, Bool, Ordered, Any };

enum OpTraits : std::uint8_t {
  Commutative = 1,
  Associative = 2,
  Idempotent = 4,
  Exact = 8,
  Mufu = 16,
};

struct OpInfo {
  std::string_view name;  // the enumerator
  std::string_view text;
  OpKind kind;
  OpTypes types;
  std::uint8_t traits;
  int max_ulp;
  std::string_view doc;

  bool is(OpTraits trait) const { return traits & trait; }
  bool is_elementwise() const { return kind >= OpKind::Unary && kind <= OpKind::Convert; }
};

const OpInfo &info(Op op);
inline constexpr int kNumOps = 0
#define FUSE_OP(...) +1
#include <fuse/ops.def>
    ;

/// Op of a text name; "max" and "min" name two: the reduction if `reduce`.
std::optional<Op> op_from_string(std::string_view text, bool reduce = false);

bool accepts(OpTypes types, DType dtype);

/// "f16, bf16, f32 or f64"
std::string_view describe(OpTypes types);

/// The type that an elementwise operation computes in: f32 for 16- and 8-bit floats. Literals of
/// such operations have it.
DType compute_type(DType dtype);

}  // namespace fuse
