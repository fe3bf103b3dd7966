// Element types.
#pragma once

#include <fuse/config.h>

#include <cstddef>
#include <optional>
#include <string_view>

FUSE_BEGIN_NAMESPACE

/// Element type of a tensor. f8e4m3 and f8e5m2 are storage only: they take casts, comparisons, min,
/// max, selects and views, no arithmetic. A bool occupies one byte holding 0 or 1.
enum class DType : unsigned char {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F8E4M3,
  F8E5M2,
  F16,
  BF16,
  F32,
  F64,
};
inline constexpr int kNumDTypes = 15;

inline constexpr DType i8 = DType::I8, i16 = DType::I16, i32 = DType::I32, i64 = DType::I64;
inline constexpr DType u8 = DType::U8, u16 = DType::U16, u32 = DType::U32, u64 = DType::U64;
inline constexpr DType f8e4m3 = DType::F8E4M3, f8e5m2 = DType::F8E5M2;
inline constexpr DType f16 = DType::F16, bf16 = DType::BF16, f32 = DType::F32, f64 = DType::F64;
inline constexpr DType boolean = DType::Bool;

/// Bytes of one element.
FUSE_API std::size_t size_of(DType type) noexcept;

/// "bf16", "i32", ...; the names of the text format.
FUSE_API std::string_view to_string(DType type) noexcept;
FUSE_API std::optional<DType> dtype_from_string(std::string_view name) noexcept;

constexpr bool is_bool(DType t) noexcept { return t == DType::Bool; }
constexpr bool is_signed_int(DType t) noexcept { return t >= DType::I8 && t <= DType::I64; }
constexpr bool is_unsigned_int(DType t) noexcept { return t >= DType::U8 && t <= DType::U64; }
constexpr bool is_int(DType t) noexcept { return t >= DType::I8 && t <= DType::U64; }
constexpr bool is_float8(DType t) noexcept { return t == DType::F8E4M3 || t == DType::F8E5M2; }
constexpr bool is_float16(DType t) noexcept { return t == DType::F16 || t == DType::BF16; }
constexpr bool is_float(DType t) noexcept { return t >= DType::F8E4M3; }

FUSE_END_NAMESPACE
