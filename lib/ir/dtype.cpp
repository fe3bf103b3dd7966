// Sizes and names of element types.
#include <fuse/dtype.h>

#include <array>

FUSE_BEGIN_NAMESPACE

namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeInfo, kNumDTypes> kInfo = {{{"bool", 1},
                                                      {"i8", 1},
                                                      {"i16", 2},
                                                      {"i32", 4},
                                                      {"i64", 8},
                                                      {"u8", 1},
                                                      {"u16", 2},
                                                      {"u32", 4},
                                                      {"u64", 8},
                                                      {"f8e4m3", 1},
                                                      {"f8e5m2", 1},
                                                      {"f16", 2},
                                                      {"bf16", 2},
                                                      {"f32", 4},
                                                      {"f64", 8}}};

}  // namespace

std::size_t size_of(DType type) noexcept { return kInfo[static_cast<std::size_t>(type)].size; }

std::string_view to_string(DType type) noexcept {
  return kInfo[static_cast<std::size_t>(type)].name;
}

std::optional<DType> dtype_from_string(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

FUSE_END_NAMESPACE
