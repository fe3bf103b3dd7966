// Products of matrices: extern operations, which the program around the graphs runs.
#pragma once

#include <fuse/jit.h>

#include <functional>
#include <map>
#include <string>

/// bf16[M, K] times bf16[K, N], which has derivatives.
fuse::Value matmul(fuse::Value a, fuse::Value b);

/// Runs what matmul() asks for. A program that has cuBLAS calls it here. This one runs without a
/// GPU too, so it takes kernels of fuse, which is made for other things than products.
class Products {
 public:
  explicit Products(const fuse::CompileOptions &options);

  void operator()(const fuse::ExternCall &call);

  bool on_gpu() const { return kernels_.begin()->second.executor() == "gpu"; }
  int calls() const { return calls_; }

 private:
  std::map<std::string, fuse::Executable, std::less<>> kernels_;
  int calls_ = 0;
};
