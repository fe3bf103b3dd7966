// .npy files: what is written reads back, and what is no such file is refused with its path.
#include "npy.h"

#include <fuse/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace fuse;
using ::testing::HasSubstr;
using ::testing::StrEq;

namespace {

std::string file_of(const std::string &dictionary, const std::string &elements = "") {
  std::string file = "\x93NUMPY";
  file += {'\x01', '\0', static_cast<char>(dictionary.size()), '\0'};
  return file + dictionary + elements;
}

std::string header(const std::string &descr, const std::string &shape,
                   const char *order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

template <class Function>
std::string error_of(ErrorCode code, Function function) {
  try {
    function();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

std::string refusal(const std::string &file) {
  return error_of(ErrorCode::Io, [&] { parse_npy(file, "x.npy"); });
}

std::string mismatch(const std::string &descr, DType type, const std::string &elements) {
  return error_of(ErrorCode::DType, [&] {
    to_tensor(parse_npy(file_of(header(descr, "(1,)"), elements), "x.npy"), type, "x.npy");
  });
}

}  // namespace

TEST(Npy, EveryDtypeAndRankReadsBack) {
  std::mt19937 random(1);
  for (int type = 0; type < kNumDTypes; ++type) {
    for (std::vector<std::int64_t> shape :
         {std::vector<std::int64_t>{}, {0}, {5}, {2, 0, 3}, {3, 4}, {1, 2, 3, 1, 2, 1, 1, 2}}) {
      Tensor tensor(static_cast<DType>(type), shape);
      for (std::byte &b : tensor.bytes)
        b = static_cast<std::byte>(is_bool(tensor.dtype) ? random() & 1 : random());
      std::string file = to_npy(tensor);
      EXPECT_EQ((file.size() - tensor.bytes.size()) % 64, 0u);
      Tensor read = to_tensor(parse_npy(file, "x.npy"), tensor.dtype, "x.npy");
      EXPECT_EQ(read.shape, tensor.shape);
      EXPECT_EQ(read.bytes, tensor.bytes);
    }
  }
}

TEST(Npy, LaterVersionsAndOtherOrdersOfTheHeader) {
  std::string dictionary = "{\"shape\": (2,), 'descr': '|u1', 'fortran_order': False}";
  std::string file = "\x93NUMPY";
  file += {'\x02', '\0', static_cast<char>(dictionary.size()), '\0', '\0', '\0'};
  NpyArray array = parse_npy(file + dictionary + "ab", "x.npy");
  EXPECT_EQ(array.shape, std::vector<std::int64_t>{2});
  EXPECT_EQ(array.bytes[1], std::byte{'b'});
}

TEST(Npy, RawBitsAreReadForTypesThatNumpyLacks) {
  for (const char *descr : {"<u2", "<V2", "|V2"}) {
    NpyArray array = parse_npy(file_of(header(descr, "(1,)"), "\x80\x3f"), "x.npy");
    EXPECT_EQ(to_tensor(array, DType::BF16, "x.npy").bits(0), 0x3f80u);
  }
  NpyArray array = parse_npy(file_of(header("|u1", "()"), "\x38"), "x.npy");
  EXPECT_EQ(to_tensor(array, DType::F8E4M3, "x.npy").bits(0), 0x38u);
}

TEST(Npy, RefusesWhatDoesNotFitWithTheRemedy) {
  EXPECT_THAT(mismatch(">f4", DType::F32, "abcd"),
              StrEq("x.npy: '>f4' is big-endian; save array.astype('<f4')"));
  EXPECT_THAT(mismatch("<f8", DType::F32, "abcdefgh"),
              StrEq("x.npy: dtype '<f8'; f32 is '<f4' in a .npy file"));
  EXPECT_THAT(mismatch("<f4", DType::BF16, "abcd"),
              StrEq("x.npy: dtype '<f4'; bf16 is '<u2' in a .npy file, the bits"));
  EXPECT_THAT(mismatch("|b1", DType::Bool, "\x02"),
              StrEq("x.npy: element 0 is a bool of 2; it must be 0 or 1"));
  EXPECT_THAT(refusal(file_of(header("<f4", "(1, 1)", "True"), "abcd")),
              StrEq("x.npy: in Fortran order; save np.ascontiguousarray(array)"));
}

TEST(Npy, RefusesWhatIsNoFile) {
  EXPECT_THAT(refusal(""), StrEq("x.npy is no .npy file"));
  EXPECT_THAT(refusal("PK\x03\x04 a .npz archive"), StrEq("x.npy is no .npy file"));
  EXPECT_THAT(refusal(file_of(header("<f4", "(2,)"), "abcd")),
              StrEq("x.npy: [2] of '<f4' has 8 bytes; the file holds 4"));
  EXPECT_THAT(refusal(file_of(header("|O", "(2,)"))), HasSubstr("are no numbers"));
  EXPECT_THAT(refusal(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}")),
              HasSubstr("an array of records"));
  EXPECT_THAT(refusal(file_of(header("<f4", "(9223372036854775807, 2)"))),
              HasSubstr("exceeds 63 bits"));
  EXPECT_THAT(refusal(file_of(header("<f4", "(99999999999999999999,)"))),
              HasSubstr("exceeds 63 bits"));
}

// No contents crash the reader: every cut and every changed byte is read or refused.
TEST(Npy, SurvivesDamage) {
  Tensor tensor(DType::F32, {2, 3});
  std::string file = to_npy(tensor);
  for (std::size_t n = 0; n < file.size(); ++n) refusal(file.substr(0, n));
  for (std::size_t i = 0; i < 128; ++i) {
    for (int change = 1; change < 256; change += 2) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      try {
        to_tensor(parse_npy(damaged, "x.npy"), DType::F32, "x.npy");
      } catch (const Error &) {
      }
    }
  }
}
