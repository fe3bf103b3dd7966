// Rules of scans.
#include "passes/simplify.h"

#include "ir/build.h"
#include "ir/op.h"
#include "ir/scalar.h"

namespace fuse {

namespace {

const ScanAttr &attr_of(Simplifier &s, NodeId id) { return s.g.attr<ScanAttr>(id); }

/// What nothing combines to.
Literal identity_of(Op op, DType type) {
  Monoid monoid = op == Op::CumSum    ? Monoid::Sum
                  : op == Op::CumProd ? Monoid::Prod
                  : op == Op::CumMin  ? Monoid::Min
                                      : Monoid::Max;
  return {type, identity(monoid, type)[0]};
}

NodeId scan_of_one_element(Simplifier &s, NodeId n) {
  const ScanAttr &attr = attr_of(s, n);
  if (s.shape(n)[static_cast<std::size_t>(attr.axis)] != Dim(1)) return kNoNode;
  return attr.exclusive ? build_constant(s.g, identity_of(s.op(n), s.dtype(n)), s.shape(n))
                        : s.arg(n, 0);
}

/// Along an axis that is not repeated: rows that are equal are scanned once.
NodeId scan_of_broadcast(Simplifier &s, NodeId n) {
  NodeId x = s.arg(n, 0);
  if (!s.is(x, Op::Broadcast)) return kNoNode;
  ScanAttr attr = attr_of(s, n);
  NodeId from = s.arg(x, 0);
  attr.axis -= static_cast<int>(s.shape(x).size() - s.shape(from).size());
  if (attr.axis < 0 || s.shape(from)[static_cast<std::size_t>(attr.axis)] == Dim(1)) return kNoNode;
  return build_broadcast(s.g, build_scan(s.g, s.op(n), from, attr), s.shape(n));
}

/// A scan from the other end.
NodeId flip_of_scan_of_flip(Simplifier &s, NodeId n) {
  NodeId scan = s.arg(n, 0);
  if (info(s.op(scan)).kind != OpKind::Scan || !s.is(scan, s.op(scan))) return kNoNode;
  NodeId inner = s.arg(scan, 0);
  if (!s.is(inner, Op::Flip) || !s.single_use(scan)) return kNoNode;
  ScanAttr attr = attr_of(s, scan);
  const std::vector<int> axis = {attr.axis};
  if (s.g.attr<AxesAttr>(n).axes != axis || s.g.attr<AxesAttr>(inner).axes != axis) return kNoNode;
  attr.reverse = !attr.reverse;
  return build_scan(s.g, s.op(scan), s.arg(inner, 0), attr);
}

constexpr Rule kRules[] = {
    {Op::CumSum, "cumsum along an axis of extent 1", scan_of_one_element},
    {Op::CumProd, "cumprod along an axis of extent 1", scan_of_one_element},
    {Op::CumMax, "cummax along an axis of extent 1", scan_of_one_element},
    {Op::CumMin, "cummin along an axis of extent 1", scan_of_one_element},
    {Op::LogCumSumExp, "logcumsumexp along an axis of extent 1", scan_of_one_element},
    {Op::CumSum, "cumsum of equal rows", scan_of_broadcast},
    {Op::CumProd, "cumprod of equal rows", scan_of_broadcast},
    {Op::CumMax, "cummax of equal rows", scan_of_broadcast},
    {Op::CumMin, "cummin of equal rows", scan_of_broadcast},
    {Op::LogCumSumExp, "logcumsumexp of equal rows", scan_of_broadcast},
    {Op::Flip, "flip of a scan of a flip", flip_of_scan_of_flip},
};

}  // namespace

std::span<const Rule> scan_rules() { return kRules; }

}  // namespace fuse
