// Measures the compilation of a graph for a target: what was planned and how long it took.
//
//     measure_model TARGET IN.fuse OUT.ptx      prints one JSON object, writes the PTX of all
//     kernels
//
// Times are CPU times of this process, so that other work on the machine does not count.
// `bytes_unfused`: every operation that is no view reads its operands and writes its result, as one
// kernel each would. `bytes_fused`: every kernel reads and writes its buffers once.
#include "codegen/codegen.h"
#include "ir/format.h"
#include "ir/instances.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "runtime/worker.h"

#include <fuse/jit.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

namespace {

using namespace fuse;

struct Measurement {
  std::size_t nodes = 0, operations = 0, externs = 0, kernels = 0, planned = 0;
  std::int64_t statements = 0;  // of the slots of the largest kernel
  double bytes_unfused = 0, bytes_fused = 0, predicted_us = 0;
  double plan_ms = 0, schedule_ms = 0, code_ms = 0, worst_code_ms = 0;
};

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double bytes_of(const GraphData &g, NodeId id) {
  double bytes = static_cast<double>(size_of(g.dtype(id)));
  for (std::int64_t extent : evaluate(g.shape(id), {})) bytes *= static_cast<double>(extent);
  return bytes;
}

bool is_free_view(Op op) {
  return info(op).kind == OpKind::View && op != Op::Gather && op != Op::Pad && op != Op::Concat;
}

/// What a kernel reads of an operand: of a view, at most what lies in memory.
double read_bytes(const GraphData &g, NodeId id) {
  double bytes = bytes_of(g, id);
  while (is_free_view(g.node(id).op)) {
    id = g.operand(id, 0);
    bytes = std::min(bytes, bytes_of(g, id));
  }
  return info(g.node(id).op).kind == OpKind::Leaf && g.node(id).op != Op::Input ? 0 : bytes;
}

void count_unfused(const GraphData &g, Measurement &m) {
  for (NodeId id = 0; id < g.size(); ++id) {
    Op op = g.node(id).op;
    m.externs += op == Op::Extern;
    OpKind kind = info(op).kind;
    if (kind == OpKind::Leaf || kind == OpKind::Extern || is_free_view(op)) continue;
    ++m.operations;
    m.bytes_unfused += bytes_of(g, id);
    for (NodeId operand : g.operands(id)) m.bytes_unfused += read_bytes(g, operand);
  }
}

/// Every buffer once, and of an input no more than what is read of it.
void count_fused(const Program &program, Measurement &m) {
  auto no_symbol = [](const Atom &) { return std::int64_t{1}; };
  for (const Kernel &kernel : program.kernels)
    for (const LaunchBuffer &at : launch_buffers(kernel)) {
      const Buffer &buffer = kernel.buffers[at.buffer];
      if (buffer.role == BufferRole::Scalar) continue;
      double bytes = static_cast<double>(size_of(buffer.dtype));
      for (const Index &extent : buffer.shape)
        bytes *= static_cast<double>(evaluate(at_instance(kernel, extent, at.instance), no_symbol));
      m.bytes_fused += bytes;
    }
  for (const PlannedKernel &k : program.plan.kernels) m.predicted_us += 1e6 * k.seconds;
}

/// Throws where the planner counted less than the scheduler emitted.
void count_statements(const Program &program, Measurement &m) {
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel &kernel = program.kernels[k];
    verify(kernel);
    m.statements = std::max(m.statements, num_unrolled(kernel));
    if (static_cast<double>(num_statements(kernel)) > program.plan.kernels[k].statements)
      throw Error(ErrorCode::Internal, kernel.name + " has more statements than planned");
  }
}

/// One PTX file for each kernel.
void emit_all(const Program &program, const Target &target, const std::string &folder,
              Measurement &m) {
  run_on_worker([&] {
    emit_ptx({&program.kernels[0]}, target);  // the first use of LLVM sets it up
    for (const Kernel &kernel : program.kernels) {
      double start = cpu_ms();
      std::string ptx = emit_ptx({&kernel}, target);
      double ms = cpu_ms() - start;
      m.code_ms += ms;
      m.worst_code_ms = std::max(m.worst_code_ms, ms);
      std::ofstream(folder + "/" + kernel.name + ".ptx") << ptx;
    }
  });
}

Measurement measure(const Graph &graph, const Target &target, const std::string &folder) {
  Measurement m;
  Graph live = eliminate_dead(graph);
  m.nodes = live.data().size();
  count_unfused(live.data(), m);
  double start = cpu_ms();
  Graph canonical = canonicalize(graph);
  Plan planned = plan(canonical, target, {});
  m.plan_ms = cpu_ms() - start;
  m.planned = planned.kernels.size();
  start = cpu_ms();
  Program program = schedule(canonical, planned, target, {});
  m.schedule_ms = cpu_ms() - start;
  m.kernels = program.kernels.size();
  count_statements(program, m);
  count_fused(program, m);
  emit_all(program, target, folder, m);
  return m;
}

std::string to_json(const std::string &name, const Measurement &m) {
  std::string text;
  append(text, "{{\"graph\": \"{}\", \"nodes\": {}, \"operations\": {}, \"externs\": {}, ", name,
         m.nodes, m.operations, m.externs);
  append(text, "\"planned\": {}, \"kernels\": {}, ", m.planned, m.kernels);
  append(text, "\"bytes_unfused\": {:.0f}, \"bytes_fused\": {:.0f}, \"predicted_us\": {:.1f}, ",
         m.bytes_unfused, m.bytes_fused, m.predicted_us);
  append(text, "\"plan_ms\": {:.2f}, \"schedule_ms\": {:.2f}, ", m.plan_ms, m.schedule_ms);
  append(text, "\"statements\": {}, ", m.statements);
  append(text, "\"code_ms\": {:.2f}, \"worst_code_ms\": {:.2f}}}\n", m.code_ms, m.worst_code_ms);
  return text;
}

int run(const std::string &target, const std::string &in, const std::string &folder) {
  std::ifstream file(in);
  std::ostringstream text;
  text << file.rdbuf();
  Graph graph = parse(text.str(), in);
  Measurement m = measure(graph, Target::named(target), folder);
  std::fputs(to_json(graph.data().name, m).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fputs("usage: measure_model TARGET IN.fuse FOLDER\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
