// An index is a polynomial in positions whose coefficients are sizes: expressions of symbols.
// Indices are walked side by side; where their sizes differ, one of the table takes their place.
// Sizes that follow from others get no column of their own.
#include "passes/schedule/generalize.h"

#include "ir/format.h"
#include "ir/instances.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fuse {

namespace {

bool is_division(const Atom &atom) {
  return atom.kind == Atom::Kind::FloorDiv || atom.kind == Atom::Kind::Mod;
}

/// The number of blocks or iterations may be a size; what is unrolled or spans threads is code.
bool may_vary(const Digit &digit) {
  return digit.kind == DigitKind::Grid || digit.kind == DigitKind::Loop;
}

template <class Body, class F>
void visit_statements(Body &body, const F &f) {
  for (auto &stmt : body) {
    f(stmt.index);
    f(stmt.count);
    visit_statements(stmt.body, f);
  }
}

/// Calls f on every index that may be a size, always in one order.
template <class K, class F>
void visit_sizes(K &kernel, const F &f) {
  for (auto &buffer : kernel.buffers)
    for (auto &extent : buffer.shape) f(extent);
  for (auto &dim : kernel.dims) f(dim.extent);
  for (auto &layout : kernel.layouts)
    for (auto &axis : layout.axes) {
      f(axis.align.base);
      for (auto &digit : axis.digits) {
        if (!may_vary(digit)) continue;
        f(digit.extent);
        f(digit.stride);
      }
    }
  visit_statements(kernel.body, f);
}

std::vector<const Index *> all_sizes(const Kernel &kernel) {
  std::vector<const Index *> sizes;
  visit_sizes(kernel, [&](const Index &index) { sizes.push_back(&index); });
  return sizes;
}

Index index_of(const Atom &atom) {
  switch (atom.kind) {
    case Atom::Kind::Dim: return Index::dim(atom.id);
    case Atom::Kind::Symbol: return Index::symbol(atom.symbol);
    case Atom::Kind::Value: return Index::value(atom.id);
    case Atom::Kind::FloorDiv: return floordiv(*atom.numerator, *atom.denominator);
    case Atom::Kind::Mod: return mod(*atom.numerator, *atom.denominator);
  }
  return 0;
}

bool is_position(const Index &index) {
  return index.uses(Atom::Kind::Dim) || index.uses(Atom::Kind::Value);
}

bool is_position(const Atom &atom) {
  if (is_division(atom)) return is_position(*atom.numerator) || is_position(*atom.denominator);
  return atom.kind != Atom::Kind::Symbol;
}

/// A product of positions and the size that it is multiplied by.
struct Part {
  std::vector<Atom> positions;
  std::string form;  // of the positions, without sizes
  Index size;
};

std::vector<Part> parts_of(const Index &index);

/// The index without its sizes.
std::string form_of(const Index &index) {
  std::string form;
  for (const Part &part : parts_of(index)) form += part.form + ";";
  return form;
}

std::string form_of(const Atom &atom) {
  std::string form = std::to_string(static_cast<int>(atom.kind));
  if (!is_division(atom)) return form + "." + std::to_string(atom.id);
  return form + "(" + form_of(*atom.numerator) + "/" + form_of(*atom.denominator) + ")";
}

/// In the order of their forms.
std::vector<Part> parts_of(const Index &index) {
  std::vector<Part> parts;
  auto same_positions = [](const std::vector<Atom> &a, const std::vector<Atom> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Atom &x, const Atom &y) { return compare(x, y) == 0; });
  };
  for (const Index::Term &term : index.terms()) {
    Part part{{}, "", term.coefficient};
    for (const Atom &atom : term.atoms) {
      if (is_position(atom)) {
        part.positions.push_back(atom);
        part.form += form_of(atom);
      } else {
        part.size = part.size * index_of(atom);
      }
    }
    auto known = std::find_if(parts.begin(), parts.end(), [&](const Part &p) {
      return same_positions(p.positions, part.positions);
    });
    if (known == parts.end())
      parts.push_back(std::move(part));
    else
      known->size = known->size + part.size;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part &a, const Part &b) { return a.form < b.form; });
  return parts;
}

/// The index divided by a number that divides all of its coefficients.
Index divided(const Index &index, std::int64_t by) {
  Index sum;
  for (const Index::Term &term : index.terms()) {
    Index product = term.coefficient / by;
    for (const Atom &atom : term.atoms) product = product * index_of(atom);
    sum = sum + product;
  }
  return sum;
}

void drop_names(Kernel &kernel) {
  kernel.name = "k";
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    kernel.buffers[i].name = "b" + std::to_string(i);
    kernel.buffers[i].alignment = 0;
  }
  for (std::size_t i = 0; i < kernel.dims.size(); ++i)
    kernel.dims[i].name = "d" + std::to_string(i);
  for (KernelValue &value : kernel.values) value.name.clear();
}

std::set<std::string> symbol_set(const Kernel &kernel) {
  std::vector<std::string> symbols = symbols_of(kernel);
  return {symbols.begin(), symbols.end()};
}

class Generalizer {
 public:
  explicit Generalizer(std::span<const Kernel *const> kernels)
      : kernels_(kernels), k_(*kernels[0]) {
    for (const KernelDim &dim : k_.dims) taken_.insert(dim.name);
    for (const Kernel *kernel : kernels) taken_.merge(symbol_set(*kernel));
  }

  std::optional<Kernel> run() {
    k_.instances = static_cast<int>(kernels_.size());
    std::vector<std::vector<const Index *>> all;
    for (const Kernel *kernel : kernels_) all.push_back(all_sizes(*kernel));
    std::size_t next = 0;
    visit_sizes(k_, [&](Index &index) {
      std::vector<const Index *> side_by_side;
      for (const auto &sizes : all) side_by_side.push_back(sizes[next]);
      index = generalize(side_by_side);
      ++next;
    });
    for (std::size_t b = 0; b < k_.buffers.size(); ++b)
      for (const Kernel *kernel : kernels_)
        k_.buffers[b].alignment = std::min(k_.buffers[b].alignment, kernel->buffers[b].alignment);
    if (fails_) return std::nullopt;
    return std::move(k_);
  }

 private:
  using Values = std::vector<Index>;

  Index generalize(const std::vector<const Index *> &indices);
  Index generalize_atom(const std::vector<const Atom *> &atoms);
  Index size(const Values &values);
  std::optional<Index> derived(const Values &values) const;
  static bool is_product(const Values &values, const Values &a, const Values &b);
  std::string new_name();

  Index symbol(std::size_t column) const { return Index::symbol(k_.table[column].name); }

  std::span<const Kernel *const> kernels_;
  Kernel k_;
  std::set<std::string> taken_;  // names
  bool fails_ = false;
};

Index Generalizer::generalize(const std::vector<const Index *> &indices) {
  const Index &first = *indices[0];
  if (std::all_of(indices.begin(), indices.end(), [&](const Index *i) { return *i == first; }))
    return first;
  std::vector<std::vector<Part>> parts;
  for (const Index *index : indices) parts.push_back(parts_of(*index));
  Index sum;
  for (std::size_t p = 0; p < parts[0].size(); ++p) {
    Values sizes;
    for (const std::vector<Part> &own : parts) sizes.push_back(own[p].size);
    Index product = size(sizes);
    for (std::size_t a = 0; a < parts[0][p].positions.size(); ++a) {
      std::vector<const Atom *> atoms;
      for (const std::vector<Part> &own : parts) atoms.push_back(&own[p].positions[a]);
      product = product * generalize_atom(atoms);
    }
    sum = sum + product;
  }
  return sum;
}

Index Generalizer::generalize_atom(const std::vector<const Atom *> &atoms) {
  const Atom &first = *atoms[0];
  if (!is_division(first)) return index_of(first);
  std::vector<const Index *> numerators, denominators;
  for (const Atom *atom : atoms) {
    numerators.push_back(atom->numerator.get());
    denominators.push_back(atom->denominator.get());
  }
  Index numerator = generalize(numerators), denominator = generalize(denominators);
  return first.kind == Atom::Kind::Mod ? mod(numerator, denominator)
                                       : floordiv(numerator, denominator);
}

/// A size that differs between the kernels. The factor in common stays in the code, where it tells
/// of vectors that fit.
Index Generalizer::size(const Values &values) {
  if (std::all_of(values.begin(), values.end(), [&](const Index &v) { return v == values[0]; }))
    return values[0];
  std::int64_t factor = 0;
  for (const Index &v : values) factor = std::gcd(factor, known_divisor(v));
  if (values[0].constant().value_or(0) < 0) factor = -factor;
  Values rest;
  for (const Index &v : values) rest.push_back(divided(v, factor));
  fails_ |= std::any_of(rest.begin(), rest.end(),
                        [](const Index &v) { return v.constant().value_or(0) < 0; });
  if (std::optional<Index> known = derived(rest)) return *known * factor;
  k_.table.push_back({new_name(), std::move(rest)});
  return symbol(k_.table.size() - 1) * factor;
}

/// The values as a size that the table has, or the product of two.
std::optional<Index> Generalizer::derived(const Values &values) const {
  for (std::size_t a = 0; a < k_.table.size(); ++a) {
    if (k_.table[a].values == values) return symbol(a);
    for (std::size_t b = 0; b <= a; ++b)
      if (is_product(values, k_.table[a].values, k_.table[b].values)) return symbol(a) * symbol(b);
  }
  return std::nullopt;
}

bool Generalizer::is_product(const Values &values, const Values &a, const Values &b) {
  for (std::size_t t = 0; t < values.size(); ++t)
    if (!(values[t] == a[t] * b[t])) return false;
  return true;
}

std::string Generalizer::new_name() {
  for (std::size_t n = k_.table.size();; ++n)
    if (std::string name = "n" + std::to_string(n); taken_.insert(name).second) return name;
}

/// Grid digits that count the blocks of their axis, written as that: no column is needed for them.
void count_blocks(Kernel &k, Axis &axis) {
  Index rest = 1;
  for (std::size_t d = 1; d < axis.digits.size(); ++d) rest = rest * axis.digits[d].extent;
  if (axis.digits[0].kind != DigitKind::Grid || !rest.constant()) return;
  auto is_same = [&](const Index &blocks) {
    for (int i = 0; i < k.instances; ++i)
      if (!(at_instance(k, blocks, i) == at_instance(k, axis.digits[0].extent, i))) return false;
    return true;
  };
  for (std::int64_t head : {INT64_C(0), vec_extent(axis) - 1}) {
    Index blocks = ceildiv(axis_extent(k, axis) + head, rest);
    if (!is_same(blocks)) continue;
    axis.digits[0].extent = blocks;
    return;
  }
}

bool uses(const Kernel &kernel, const std::string &name) {
  bool found = false;
  auto is_it = [&](const Atom &a) { return a.kind == Atom::Kind::Symbol && a.symbol == name; };
  visit_sizes(kernel, [&](const Index &index) { found = found || any_atom(index, is_it); });
  return found;
}

}  // namespace

std::string skeleton_of(Kernel kernel) {
  drop_names(kernel);
  std::string forms;
  visit_sizes(kernel, [&](Index &index) {
    forms += form_of(index) + "|";
    index = 0;
  });
  return to_string(kernel) + forms;
}

std::string body_skeleton_of(const Kernel &kernel) {
  Kernel body = kernel;
  body.threads = body.resident = body.index_bits = 0;
  for (Layout &layout : body.layouts)
    for (Axis &axis : layout.axes) axis.digits.clear();
  return skeleton_of(std::move(body));
}

std::optional<Kernel> generalize(std::span<const Kernel *const> kernels) {
  std::optional<Kernel> k = Generalizer(kernels).run();
  if (!k) return std::nullopt;
  for (Layout &layout : k->layouts)
    for (Axis &axis : layout.axes) count_blocks(*k, axis);
  std::erase_if(k->table, [&](const InstanceSize &size) { return !uses(*k, size.name); });
  for (Buffer &buffer : k->buffers) buffer.each = true;
  return grids_nest(*k) ? k : std::nullopt;
}

bool divides_by_sizes(const Kernel &kernel) {
  bool divides = false;
  auto is_slow = [&](const Atom &atom) {
    return is_division(atom) && is_position(atom) &&
           differs_between_instances(kernel, *atom.denominator);
  };
  visit_statements(kernel.body,
                   [&](const Index &index) { divides = divides || any_atom(index, is_slow); });
  for (const Layout &layout : kernel.layouts)
    for (const Axis &axis : layout.axes)
      for (std::size_t d = 1; d < axis.dims.size(); ++d)
        divides |= differs_between_instances(kernel, kernel.dims[axis.dims[d]].extent);
  return divides;
}

}  // namespace fuse
