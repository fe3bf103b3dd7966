// Tensors as NumPy's .npy files.
//
// Every dtype has one form on disk, little-endian and in C order, and nothing is converted: f64 f32
// f16 and integers are themselves, bool is b1. NumPy has no bf16 and no f8: their bits are u2 and
// u1 (`array.view(np.uint16)`); V2 and V1, which is what ml_dtypes writes, are read too.
#pragma once

#include "ir/tensor.h"

#include <string>
#include <string_view>

struct NpyArray {
  std::string descr;  // "<f4"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Reads a file's contents. Throws Error{Io} naming the path: for what is no .npy file or is cut
/// off, for Fortran order, objects and records.
NpyArray parse_npy(std::string_view contents, const std::string &path);

/// The array as a tensor of the dtype. Throws Error{DType} where it is another one or big-endian,
/// naming the path, both dtypes and what to do.
fuse::Tensor to_tensor(NpyArray array, fuse::DType type, const std::string &path);

/// The contents of a file.
std::string to_npy(const fuse::Tensor &tensor);
