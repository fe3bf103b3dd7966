#include "trainer/program.h"

using namespace fuse;

namespace {

/// The input that an output is declared to be written over, else the output itself.
ArgumentInfo place_of(ArgumentInfo output, const std::vector<InPlacePair> &pairs) {
  for (const InPlacePair &pair : pairs)
    if (pair.output == output.name) output.name = pair.input;
  return output;
}

}  // namespace

DeviceBuffer &Arguments::tensor(const ArgumentInfo &argument) {
  auto [at, is_new] = tensors_.try_emplace(argument.name);
  if (is_new) {
    std::size_t bytes =
        size_of(argument.dtype) * static_cast<std::size_t>(num_elements(argument.shape).value());
    at->second = on_gpu_ ? DeviceBuffer::device(bytes) : DeviceBuffer::host(bytes);
    at->second.fill_zero();
  }
  return at->second;
}

Program::Program(const Graph &graph, const CompileOptions &options, Arguments &arguments,
                 const ExternHandler &run_extern)
    : executable_(compile(graph, options)), launch_(executable_.bind({})) {
  options_.run_extern = run_extern;
  for (const ArgumentInfo &input : executable_.inputs())
    addresses_.push_back(input.is_scalar ? arguments.scalar(input.name)
                                         : arguments.tensor(input).data());
  for (const ArgumentInfo &output : executable_.outputs())
    addresses_.push_back(arguments.tensor(place_of(output, options.in_place)).data());
}
