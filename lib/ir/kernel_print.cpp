// Kernel -> text. One statement a line, every choice printed, so equal kernels print alike and
// parse(print(k)) == k. Values without a name print as their number.
#include "ir/format.h"
#include "ir/kernel.h"
#include "ir/literal_text.h"
#include "ir/op.h"

namespace fuse {

namespace {

std::string_view to_string(DigitKind kind) {
  switch (kind) {
    case DigitKind::Grid: return "grid";
    case DigitKind::Cta: return "cta";
    case DigitKind::Thread: return "thread";
    case DigitKind::Loop: return "loop";
    case DigitKind::Reg: return "reg";
    case DigitKind::Vec: return "vec";
  }
  return "";
}

std::string_view suffix_of(Cache cache) {
  switch (cache) {
    case Cache::Default: return "";
    case Cache::Streaming: return ".streaming";
    case Cache::EvictLast: return ".evict_last";
    case Cache::NoAllocate: return ".no_allocate";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Kernel &kernel) : k_(kernel) {}

  std::string print() {
    print_signature();
    print_instances();
    print_dims();
    for (const Layout &layout : k_.layouts) print_layout(layout);
    print_body(k_.body, 1);
    return out_ + "}\n";
  }

 private:
  std::string index(const Index &i) const {
    return fuse::to_string(i, [&](const Atom &a) {
      return a.kind == Atom::Kind::Dim ? k_.dims[a.id].name : value(a.id);
    });
  }

  std::string value(ValueId id) const {
    const std::string &name = k_.values[id].name;
    return "%" + (name.empty() ? std::to_string(id) : name);
  }

  template <class T, class F>
  std::string list(const std::vector<T> &items, const F &text_of) const {
    std::string text;
    for (const T &item : items) text += (text.empty() ? "" : ", ") + text_of(item);
    return text;
  }

  std::string values(const std::vector<ValueId> &ids) const {
    return list(ids, [&](ValueId id) { return value(id); });
  }

  std::string dims(const std::vector<DimId> &ids) const {
    return list(ids, [&](DimId id) { return k_.dims[id].name; });
  }

  std::string element(const Stmt &s) const {
    return "%" + k_.buffers[s.buffer].name + "[" + index(s.index) + "]";
  }

  std::string parameter(const Buffer &b) const {
    std::string text = "%" + b.name + ": " + std::string(fuse::to_string(b.dtype)) + "[" +
                       list(b.shape, [&](const Index &e) { return index(e); }) + "]";
    if (b.alignment != 0) append(text, " align {}", b.alignment);
    if (b.coherent) text += " coherent";
    if (b.strided) text += " strided";
    if (b.role == BufferRole::Scalar) text += " scalar";
    if (b.each) text += " each";
    return text;
  }

  std::string parameters(BufferRole role, BufferRole or_role) const {
    std::string text;
    for (const Buffer &b : k_.buffers)
      if (b.role == role || b.role == or_role) text += (text.empty() ? "" : ", ") + parameter(b);
    return text;
  }

  void print_signature() {
    append(out_, "kernel @{}({}) -> ({})", k_.name,
           parameters(BufferRole::Input, BufferRole::Scalar),
           parameters(BufferRole::Output, BufferRole::Output));
    std::string workspace = parameters(BufferRole::Workspace, BufferRole::Workspace);
    if (!workspace.empty()) append(out_, " workspace ({})", workspace);
    append(out_, " threads {} cluster {}", k_.threads, k_.cluster);
    if (k_.resident != 0) append(out_, " resident {}", k_.resident);
    append(out_, " index {}", k_.index_bits);
    print_promises("divisors", k_.divisors);
    print_promises("minima", k_.minima);
    out_ += " {\n";
  }

  void print_promises(std::string_view what, const Bindings &promises) {
    if (promises.empty()) return;
    std::string text;
    for (const auto &[symbol, value] : promises)
      append(text, "{}{} {}", text.empty() ? "" : ", ", symbol, value);
    append(out_, " {} ({})", what, text);
  }

  void print_instances() {
    if (k_.instances == 0) return;
    append(out_, "  instances {}", k_.instances);
    const char *separator = " ";
    for (const InstanceSize &size : k_.table) {
      append(out_, "{}{}: {}", separator, size.name,
             list(size.values, [&](const Index &value) { return index(value); }));
      separator = "; ";
    }
    out_ += "\n";
  }

  void print_dims() {
    if (k_.dims.empty()) return;
    append(out_, "  dims {}\n",
           list(k_.dims, [&](const KernelDim &d) { return d.name + ": " + index(d.extent); }));
  }

  std::string digit(const Digit &d) const {
    std::string text(to_string(d.kind));
    if (d.kind == DigitKind::Loop) text += ":" + d.name;
    text += " " + index(d.extent);
    if (d.stride.is_constant(1)) return text;
    return text + (d.stride.constant() ? "@" + index(d.stride) : "@(" + index(d.stride) + ")");
  }

  void print_layout(const Layout &layout) {
    append(out_, "  layout {}:", layout.name);
    for (std::size_t a = 0; a < layout.axes.size(); ++a) {
      const Axis &axis = layout.axes[a];
      std::string names = dims(axis.dims);
      if (axis.dims.size() != 1) names = "(" + names + ")";
      append(out_, "{} {} = ", a ? ";" : "", names);
      for (std::size_t d = 0; d < axis.digits.size(); ++d)
        append(out_, "{}{}", d ? " . " : "", digit(axis.digits[d]));
      if (axis.align.buffer != kNone)
        append(out_, " align %{}[{}]", k_.buffers[axis.align.buffer].name, index(axis.align.base));
    }
    out_ += "\n";
  }

  void print_body(const std::vector<Stmt> &body, int depth) {
    for (const Stmt &s : body) {
      out_.append(2 * static_cast<std::size_t>(depth), ' ');
      if (!s.results.empty()) append(out_, "{} = ", values(s.results));
      print_statement(s);
      if (s.kind == StmtKind::For || s.kind == StmtKind::In || s.kind == StmtKind::LastBlock) {
        out_ += " {\n";
        print_body(s.body, depth + 1);
        out_.append(2 * static_cast<std::size_t>(depth), ' ');
        out_ += "}";
      }
      out_ += "\n";
    }
  }

  void print_access(const Stmt &s) {
    out_ += s.kind == StmtKind::Load ? "load" : "store";
    if (s.vector != 1) append(out_, ".{}", s.vector);
    append(out_, "{}{}{} {}", suffix_of(s.cache), s.bulk ? ".bulk" : "",
           s.unaligned ? ".unaligned" : "", element(s));
    if (s.kind == StmtKind::Store) append(out_, ", {}", values(s.operands));
    if (s.guard != kNone) append(out_, " if {}", value(s.guard));
    if (s.fill != 0)
      append(out_, " fill {}", fuse::to_string(Literal{k_.buffers[s.buffer].dtype, s.fill}));
  }

  void print_random(const Stmt &s) {
    out_ += "random";
    if (s.vector != 1) append(out_, ".{}", s.vector);
    append(out_, " {}[{}] stream {}", value(s.operands[0]), index(s.index), s.stream);
  }

  std::string result_type(const Stmt &s) const {
    return std::string(fuse::to_string(k_.values[s.results[0]].dtype));
  }

  void print_for(const Stmt &s) {
    append(out_, "for {}{}{}", s.loop, s.reverse ? " reverse" : "",
           s.partition ? " partition" : "");
    if (s.pipe > 0) append(out_, " pipe {}", s.pipe);
  }

  void print_scan(const Stmt &s) {
    std::vector<ValueId> start(scan_start(s).begin(), scan_start(s).end());
    std::vector<ValueId> operands(s.operands.begin(),
                                  s.operands.end() - std::ptrdiff_t(start.size()));
    append(out_, "scan {}({}) over {}", fuse::to_string(s.monoid), values(operands), dims(s.axes));
    if (!start.empty()) append(out_, " from {}", values(start));
    append(out_, "{}{}", s.exclusive ? " exclusive" : "", s.reverse ? " reverse" : "");
  }

  void print_statement(const Stmt &s) {
    switch (s.kind) {
      case StmtKind::Constant:
        append(out_, "const {} : {}", fuse::to_string(s.literal), result_type(s));
        break;
      case StmtKind::Index: append(out_, "index {} : {}", index(s.index), result_type(s)); break;
      case StmtKind::Random: print_random(s); break;
      case StmtKind::Compute:
        append(out_, "{} {} : {}{}{}", info(s.op).text, values(s.operands), result_type(s),
               s.approximate ? " approx" : "", s.by_reciprocal ? " recip" : "");
        break;
      case StmtKind::Load:
      case StmtKind::Store: print_access(s); break;
      case StmtKind::Reduce:
        append(out_, "reduce {}({}) over {}{}{}", fuse::to_string(s.monoid), values(s.operands),
               dims(s.axes), s.terms ? " terms" : "", s.approximate ? " approx" : "");
        break;
      case StmtKind::Scan: print_scan(s); break;
      case StmtKind::Move:
        append(out_, "move.{}.{} {} to {} via shared[{}]", s.vector, s.read_vector,
               values(s.operands), k_.layouts[s.layout].name, index(s.index));
        break;
      case StmtKind::Keep:
        append(out_, "keep {} {}", s.residence == Residence::Register ? "reg" : "shared",
               values(s.operands));
        break;
      case StmtKind::For: print_for(s); break;
      case StmtKind::In: append(out_, "in {}", k_.layouts[s.layout].name); break;
      case StmtKind::LastBlock:
        append(out_, "last_block {} of {}", element(s), index(s.count));
        break;
    }
  }

  const Kernel &k_;
  std::string out_;
};

}  // namespace

std::string to_string(const Kernel &kernel) { return Printer(kernel).print(); }

}  // namespace fuse
