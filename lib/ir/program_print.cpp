// Program -> text: declarations, the kernels in their own format, steps, and what was planned.
//
// Memory is named by its kind and position, as steps bind it: `input 0`, `workspace 2`.
#include "ir/format.h"
#include "ir/instances.h"
#include "ir/lexer.h"
#include "ir/literal_text.h"
#include "ir/program_text.h"

#include <bit>

namespace fuse {

namespace {

std::string_view to_string(Binding::Kind kind) {
  switch (kind) {
    case Binding::Kind::Input: return "input";
    case Binding::Kind::Output: return "output";
    case Binding::Kind::Workspace: return "workspace";
  }
  return "";
}

/// An index of symbols alone has no other names.
std::string to_string(const Index &index) {
  return fuse::to_string(index, [](const Atom &) { return std::string(); });
}

std::string to_string(double number) {
  return fuse::to_string(Literal{DType::F64, std::bit_cast<std::uint64_t>(number)});
}

std::string indented(const std::string &text) {
  std::string result;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find('\n', start) + 1;
    append(result, "  {}", std::string_view(text).substr(start, end - start));
    start = end;
  }
  return result;
}

class Printer {
 public:
  explicit Printer(const Program &program) : p_(program) {}

  std::string print() {
    append(out_, "program @{} {{\n", p_.name);
    for (const Symbol &s : p_.symbols)
      append(out_, "  symbol {} min={} max={} divisor={}\n", s.name, s.bounds.min, s.bounds.max,
             s.bounds.divisor);
    for (const Argument &a : p_.inputs) print_argument("input", a);
    for (const Argument &a : p_.outputs) print_argument("output", a);
    for (const WorkspaceBuffer &w : p_.workspace)
      append(out_, "  workspace {}{}\n", to_string(w.bytes), w.counter ? " counter" : "");
    for (const Limit &l : p_.limits)
      append(out_, "  limit {} {} <= {} {}\n", fuse::to_string(l.kind), to_string(l.value), l.max,
             quoted(l.why));
    for (const SizeRange &r : p_.ranges)
      append(out_, "  class {} <= {} <= {}\n", r.min, to_string(r.value), r.max);
    for (const Kernel &k : p_.kernels) out_ += indented(fuse::to_string(k));
    for (const Step &s : p_.steps) s.is_extern ? print_call(s) : print_launch(s);
    print_plan(p_.plan);
    return out_ + "}\n";
  }

 private:
  void print_plan(const Plan &plan) {
    for (const PlannedKernel &k : plan.kernels) {
      append(out_, "  planned {} {} {} {} {} (", quoted(k.name), to_string(k.seconds),
             quoted(k.bound), to_string(k.bytes), to_string(k.moved_bytes));
      for (std::size_t i = 0; i < k.pipes.size(); ++i)
        append(out_, "{}{} {}", i ? ", " : "", quoted(k.pipes[i].pipe), to_string(k.pipes[i].us));
      out_ += ")\n";
    }
    for (const Decision &d : plan.decisions)
      append(out_, "  decision {} {} {} {} {}\n", quoted(d.about), quoted(d.chosen), quoted(d.why),
             to_string(d.gain_seconds), quoted(d.rejected));
    append(out_, "  unfused {} {} {} {}\n", plan.unfused.kernels, to_string(plan.unfused.bytes),
           to_string(plan.unfused.predicted_us), to_string(plan.unfused.moved_bytes));
    for (const auto &[symbol, size] : plan.sizes) append(out_, "  size {} {}\n", symbol, size);
  }

  void print_argument(std::string_view kind, const Argument &a) {
    append(out_, "  {} %{}: {}{} align {}{}{}\n", kind, a.name, fuse::to_string(a.dtype),
           fuse::to_string(a.shape), a.alignment, a.is_scalar ? " scalar" : "",
           a.strided ? " strided" : "");
  }

  void print_binding(const Binding &b) { append(out_, "{} {}", to_string(b.kind), b.index); }

  void print_launch(const Step &s) {
    append(out_, "  launch {} (", s.kernel);
    const Kernel &kernel = p_.kernels[s.kernel];
    std::vector<LaunchBuffer> buffers = launch_buffers(kernel);
    for (std::size_t i = 0; i < s.bindings.size(); ++i) {
      const auto &[buffer, instance] = buffers[i];
      bool each = kernel.buffers[buffer].each;
      append(out_, "{}{}", i ? ", " : "", each && instance == 0 ? "(" : "");
      print_binding(s.bindings[i]);
      if (each && instance + 1 == kernel.instances) out_ += ")";
    }
    out_ += ")\n";
  }

  void print_operands(const Step &s, std::size_t begin, std::size_t end) {
    out_ += "(";
    for (std::size_t i = begin; i < end; ++i) {
      if (i > begin) out_ += ", ";
      print_binding(s.bindings[i]);
      append(out_, ": {}{}", fuse::to_string(s.dtypes[i]), fuse::to_string(s.shapes[i]));
    }
    out_ += ")";
  }

  void print_call(const Step &s) {
    append(out_, "  call {} ", quoted(s.extern_name));
    print_operands(s, 0, s.num_operands);
    out_ += " -> ";
    print_operands(s, s.num_operands, s.bindings.size());
    out_ += "\n";
  }

  const Program &p_;
  std::string out_;
};

}  // namespace

std::string_view to_string(Limit::Kind kind) {
  switch (kind) {
    case Limit::Kind::Capacity: return "capacity";
    case Limit::Kind::Offsets: return "offsets";
    case Limit::Kind::Divisor: return "divisor";
    case Limit::Kind::Minimum: return "minimum";
    case Limit::Kind::Blocks: return "blocks";
    case Limit::Kind::NotEmpty: return "not_empty";
    case Limit::Kind::Fixed: return "fixed";
  }
  return "";
}

std::string to_string(const Program &program) { return Printer(program).print(); }

}  // namespace fuse
