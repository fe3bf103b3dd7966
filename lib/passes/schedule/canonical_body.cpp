// Values are told apart by a hash of what they are computed from; statements follow their uses.
#include "passes/schedule/canonical_body.h"

#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;  // FNV-1a

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

bool is_pure(const Stmt &stmt) {
  return stmt.kind == StmtKind::Constant || stmt.kind == StmtKind::Index ||
         stmt.kind == StmtKind::Random || stmt.kind == StmtKind::Compute ||
         stmt.kind == StmtKind::Load;
}

bool is_flat(const Kernel &kernel) {
  if (kernel.body.size() != 1 || kernel.body[0].kind != StmtKind::In) return false;
  const std::vector<Stmt> &body = kernel.body[0].body;
  return std::all_of(body.begin(), body.end(),
                     [](const Stmt &s) { return is_pure(s) || s.kind == StmtKind::Store; });
}

class Canonicalizer {
 public:
  explicit Canonicalizer(Kernel &kernel)
      : k_(kernel),
        body_(std::move(kernel.body[0].body)),
        statement_of_(kernel.values.size(), SIZE_MAX),
        hash_(kernel.values.size(), 0),
        number_(kernel.values.size(), kNone) {}

  void run() {
    for (std::size_t i = 0; i < body_.size(); ++i) {
      order_operands(body_[i]);
      if (body_[i].results.empty()) continue;
      statement_of_[body_[i].results[0]] = i;
      hash_[body_[i].results[0]] = hash_of(body_[i]);
    }
    for (std::size_t i = 0; i < body_.size(); ++i)
      if (body_[i].kind == StmtKind::Store) emit(i);
    k_.values = std::move(values_);
    k_.body[0].body = std::move(emitted_);
  }

 private:
  void order_operands(Stmt &stmt) const;
  std::uint64_t hash_of(const Stmt &stmt) const;
  void emit(std::size_t statement);
  void append(Stmt stmt);

  Kernel &k_;
  std::vector<Stmt> body_, emitted_;
  std::vector<std::size_t> statement_of_;  // by value
  std::vector<std::uint64_t> hash_;        // by value
  std::vector<ValueId> number_;            // by value: the new one
  std::vector<KernelValue> values_;
};

void Canonicalizer::order_operands(Stmt &stmt) const {
  if (stmt.kind != StmtKind::Compute || !info(stmt.op).is(Commutative)) return;
  if (hash_[stmt.operands[1]] < hash_[stmt.operands[0]])
    std::swap(stmt.operands[0], stmt.operands[1]);
}

/// Of the form that sizes do not change.
std::uint64_t Canonicalizer::hash_of(const Stmt &stmt) const {
  std::uint64_t hash = kBasis;
  auto add = [&](std::uint64_t number) { hash = mix(hash, std::to_string(number) + ","); };
  add(static_cast<std::uint64_t>(stmt.kind));
  add(static_cast<std::uint64_t>(stmt.op));
  add(static_cast<std::uint64_t>(k_.values[stmt.results[0]].dtype));
  add(stmt.literal.bits);
  add(stmt.stream);
  if (stmt.buffer != kNone) add(static_cast<std::uint64_t>(k_.buffers[stmt.buffer].role));
  for (DimId d : k_.values[stmt.results[0]].dims) add(d);
  for (const Index::Term &term : stmt.index.terms())
    for (const Atom &atom : term.atoms) add(atom.id);
  for (ValueId v : used_values(stmt)) add(hash_[v]);
  return hash;
}

/// What the statement needs and is not there yet, depth first, then itself.
void Canonicalizer::emit(std::size_t statement) {
  std::vector<std::pair<std::size_t, std::size_t>> stack = {{statement, 0}};
  while (!stack.empty()) {
    auto &[current, next] = stack.back();
    std::vector<ValueId> needed = used_values(body_[current]);
    if (next < needed.size()) {
      ValueId v = needed[next++];
      if (number_[v] == kNone) stack.emplace_back(statement_of_[v], 0);
      continue;
    }
    append(std::move(body_[current]));
    stack.pop_back();
  }
}

void Canonicalizer::append(Stmt stmt) {
  for (ValueId &v : stmt.operands) v = number_[v];
  if (stmt.guard != kNone) stmt.guard = number_[stmt.guard];
  stmt.index = substitute(stmt.index, [&](const Atom &atom) -> std::optional<Index> {
    if (atom.kind != Atom::Kind::Value) return std::nullopt;
    return Index::value(number_[atom.id]);
  });
  for (ValueId &v : stmt.results) {
    number_[v] = static_cast<ValueId>(values_.size());
    values_.push_back(std::move(k_.values[v]));
    values_.back().name = "v" + std::to_string(number_[v]);
    v = number_[v];
  }
  emitted_.push_back(std::move(stmt));
}

}  // namespace

void canonicalize_body(Kernel &kernel) {
  if (is_flat(kernel)) Canonicalizer(kernel).run();
}

}  // namespace fuse
