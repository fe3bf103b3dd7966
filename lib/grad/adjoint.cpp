// What rules ask of a node: see adjoint.h.
#include "grad/adjoint.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

/// A factor that is known to be finite needs no guard.
bool is_finite_constant(const GraphData &g, Value v) {
  return g.node(v.index()).op == Op::Constant &&
         std::isfinite(as_double(g.attr<Literal>(v.index())));
}

bool is_nonzero_constant(const GraphData &g, Value v) {
  if (g.node(v.index()).op != Op::Constant) return false;
  double literal = as_double(g.attr<Literal>(v.index()));
  return std::isfinite(literal) && literal != 0;
}

}  // namespace

Value in_compute_type(Value v) { return cast(v, compute_type(v.dtype())); }

Value Adjoint::dy() const { return in_compute_type(cotangent()); }

Value Adjoint::x(std::size_t i) const { return in_compute_type(operand(i)); }

Value Adjoint::y() const {
  const Node &n = g_.node(node_);
  if (compute_type(n.dtype) == n.dtype) return g_.value(node_);
  Op op = n.op;
  if (info(op).kind == OpKind::Scan)
    return g_.value(build_scan(g_, op, x().index(), attr<ScanAttr>()));
  FUSE_CHECK(info(op).is_elementwise(), "{} is not computed again", info(op).text);
  std::vector<NodeId> operands;
  for (std::size_t i = 0; i < num_operands(); ++i) operands.push_back(x(i).index());
  return g_.value(build_elementwise(g_, op, operands));
}

bool Adjoint::is_constant(std::size_t i) const {
  return g_.node(g_.operand(node_, i)).op == Op::Constant;
}

void Adjoint::add(std::size_t i, Value dx, Dead dead) {
  NodeId operand = g_.operand(node_, i);
  if (!sink_.is_active[operand]) return;
  FUSE_CHECK(dx.shape() == g_.shape(operand), "{}: a cotangent of {} for operand {} of {}",
             info(g_.node(node_).op).text, to_string(dx.shape()), i, to_string(g_.shape(operand)));
  sink_.terms[operand].push_back({dx.index(), dead});
}

void Adjoint::add_chosen(std::size_t i, Value dx, Dead dead) {
  add(i, dx, std::max(cotangent_.dead, dead));
}

Value Adjoint::times(Value cotangent, Value factor, Dead from) const {
  if (!guards(from) || is_finite_constant(g_, factor)) return cotangent * factor;
  Value is_dead = eq(cotangent, 0) & logical_not(isfinite(factor));
  return cotangent * select(is_dead, 0, factor);
}

Value Adjoint::divisor(Value b) const {
  if (!guards(Dead::Functions) || is_nonzero_constant(g_, b)) return b;
  Value is_dead = eq(dy(), 0) & logical_not(abs(b) > 0);  // NaN too
  return select(is_dead, 1, b);
}

}  // namespace fuse
