// Arguments of a run: tensors from files or at random, and the sizes that follow from them.
#pragma once

#include "options.h"

#include "ir/tensor.h"

#include <fuse/graph.h>

#include <string>
#include <vector>

struct RunArguments {
  std::vector<fuse::Tensor> inputs;
  fuse::Bindings sizes;
};

/// Reads --in, solves sizes from the shapes of its files, and fills the other inputs at random.
/// UsageError for names that are none of the graph's and sizes that nothing gives; Error for files
/// that do not fit.
RunArguments make_arguments(const fuse::Graph &graph, const Options &options);

/// UsageError for a name that is no symbol of the graph and a size that the symbol does not take.
void check_dims(const fuse::Graph &graph, const fuse::Bindings &dims);

/// Error{OutOfMemory} names the tensor and its bytes.
fuse::Tensor make_tensor(const std::string &name, fuse::DType type,
                         const std::vector<std::int64_t> &shape);

/// UsageError for a name of `files` that is none of the given ones.
void check_names(const char *option, const std::map<std::string, std::string> &files,
                 const std::vector<std::string> &names);

/// A file as a tensor of the type. Error{Shape} where its shape is another one.
fuse::Tensor read_tensor(const std::string &name, const std::string &path, fuse::DType type,
                         const std::vector<std::int64_t> &shape);
