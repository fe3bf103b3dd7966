// Indices are walked side by side. Where their coefficients differ, a size of the table takes their
// place; sizes that follow from others get no column of their own.
#include "passes/schedule/generalize.h"

#include "ir/format.h"
#include "ir/instances.h"

#include <algorithm>
#include <numeric>

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

/// The index but for its coefficients.
void append_form(std::string &text, const Index &index) {
  for (const Index::Term &term : index.terms()) {
    text += '#';
    for (const Atom &atom : term.atoms) {
      append(text, "{}{}{}", static_cast<int>(atom.kind),
             atom.kind == Atom::Kind::Symbol ? "$" : ".",
             atom.kind == Atom::Kind::Symbol ? atom.symbol : std::to_string(atom.id));
      if (!is_division(atom)) continue;
      text += '(';
      append_form(text, *atom.numerator);
      text += '/';
      append_form(text, *atom.denominator);
      text += ')';
    }
  }
  text += ';';
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

std::string skeleton(Kernel kernel) {
  drop_names(kernel);
  std::string forms;
  visit_sizes(kernel, [&](Index &index) {
    append_form(forms, index);
    index = 0;
  });
  return to_string(kernel) + forms;
}

class Generalizer {
 public:
  explicit Generalizer(std::span<const Kernel *const> kernels)
      : kernels_(kernels), k_(*kernels[0]) {}

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
  using Values = std::vector<std::int64_t>;

  Index generalize(const std::vector<const Index *> &indices);
  Index generalize_atom(const std::vector<const Atom *> &atoms);
  Index size(const Values &values);
  std::optional<Index> derived(const Values &values) const;
  std::string new_name() const;

  Index symbol(std::size_t column) const { return Index::symbol(k_.table[column].name); }

  std::span<const Kernel *const> kernels_;
  Kernel k_;
  std::vector<Values> columns_;  // of k_.table
  bool fails_ = false;
};

Index Generalizer::generalize(const std::vector<const Index *> &indices) {
  const Index &first = *indices[0];
  if (std::all_of(indices.begin(), indices.end(), [&](const Index *i) { return *i == first; }))
    return first;
  Index sum;
  for (std::size_t t = 0; t < first.terms().size(); ++t) {
    Values coefficients;
    for (const Index *index : indices) coefficients.push_back(index->terms()[t].coefficient);
    Index product = size(coefficients);
    for (std::size_t a = 0; a < first.terms()[t].atoms.size(); ++a) {
      std::vector<const Atom *> atoms;
      for (const Index *index : indices) atoms.push_back(&index->terms()[t].atoms[a]);
      product = product * generalize_atom(atoms);
    }
    sum = sum + product;
  }
  return sum;
}

Index Generalizer::generalize_atom(const std::vector<const Atom *> &atoms) {
  const Atom &first = *atoms[0];
  switch (first.kind) {
    case Atom::Kind::Dim: return Index::dim(first.id);
    case Atom::Kind::Value: return Index::value(first.id);
    case Atom::Kind::Symbol: return Index::symbol(first.symbol);
    case Atom::Kind::FloorDiv:
    case Atom::Kind::Mod: break;
  }
  std::vector<const Index *> numerators, denominators;
  for (const Atom *atom : atoms) {
    numerators.push_back(atom->numerator.get());
    denominators.push_back(atom->denominator.get());
  }
  Index numerator = generalize(numerators), denominator = generalize(denominators);
  return first.kind == Atom::Kind::Mod ? mod(numerator, denominator)
                                       : floordiv(numerator, denominator);
}

/// A number that differs between the kernels. The factor in common stays in the code, where it
/// tells of vectors that fit.
Index Generalizer::size(const Values &values) {
  if (std::all_of(values.begin(), values.end(), [&](auto v) { return v == values[0]; }))
    return values[0];
  std::int64_t factor = 0;
  for (std::int64_t v : values) factor = std::gcd(factor, v);
  if (values[0] < 0) factor = -factor;
  Values parts;
  for (std::int64_t v : values) parts.push_back(v / factor);
  fails_ |= std::any_of(parts.begin(), parts.end(), [](std::int64_t v) { return v < 0; });
  if (std::optional<Index> known = derived(parts)) return *known * factor;
  k_.table.push_back({new_name(), {parts.begin(), parts.end()}});
  columns_.push_back(std::move(parts));
  return symbol(columns_.size() - 1) * factor;
}

/// The values as a size that the table has, or the product of two.
std::optional<Index> Generalizer::derived(const Values &values) const {
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    if (columns_[a] == values) return symbol(a);
    for (std::size_t b = 0; b <= a; ++b) {
      auto is_product = [&, t = std::size_t{0}](std::int64_t v) mutable {
        std::int64_t product = columns_[a][t] * columns_[b][t];
        ++t;
        return v == product;
      };
      if (std::all_of(values.begin(), values.end(), is_product)) return symbol(a) * symbol(b);
    }
  }
  return std::nullopt;
}

std::string Generalizer::new_name() const {
  std::vector<std::string> taken = symbols_of(*kernels_[0]);
  for (const KernelDim &dim : k_.dims) taken.push_back(dim.name);
  for (std::size_t n = k_.table.size();; ++n) {
    std::string name = "n" + std::to_string(n);
    bool is_free = std::none_of(k_.table.begin(), k_.table.end(),
                                [&](const InstanceSize &size) { return size.name == name; });
    if (is_free && std::find(taken.begin(), taken.end(), name) == taken.end()) return name;
  }
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
  auto look = [&](const Atom &atom) -> std::optional<Index> {
    found |= atom.kind == Atom::Kind::Symbol && atom.symbol == name;
    return std::nullopt;
  };
  visit_sizes(kernel, [&](const Index &index) { substitute(index, look); });
  return found;
}

/// Two instances show it; how many fit a launch is another matter.
bool is_valid(Kernel kernel) {
  kernel.instances = 2;
  for (InstanceSize &size : kernel.table) size.values.resize(2);
  try {
    verify(kernel);
    return true;
  } catch (const Error &) {
    return false;
  }
}

}  // namespace

std::string skeleton_of(const Kernel &kernel) { return skeleton(kernel); }

std::string body_skeleton_of(const Kernel &kernel) {
  Kernel body = kernel;
  body.threads = body.resident = 0;
  for (Layout &layout : body.layouts)
    for (Axis &axis : layout.axes) axis.digits.clear();
  return skeleton(std::move(body));
}

std::optional<Kernel> generalize(std::span<const Kernel *const> kernels) {
  std::optional<Kernel> k = Generalizer(kernels).run();
  if (!k) return std::nullopt;
  for (Layout &layout : k->layouts)
    for (Axis &axis : layout.axes) count_blocks(*k, axis);
  std::erase_if(k->table, [&](const InstanceSize &size) { return !uses(*k, size.name); });
  for (Buffer &buffer : k->buffers) buffer.each = true;
  return is_valid(*k) ? k : std::nullopt;
}

}  // namespace fuse
