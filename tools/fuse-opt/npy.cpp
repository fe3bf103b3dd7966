// The format: magic, version, length of the header, header, elements. The header is the text of a
// Python dictionary of three entries.
#include "npy.h"

#include "ir/exact.h"
#include "text.h"

#include <cstring>

using namespace fuse;

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the elements in the file

std::string_view descr_of(DType type) {
  switch (type) {
    case DType::Bool: return "|b1";
    case DType::I8: return "|i1";
    case DType::I16: return "<i2";
    case DType::I32: return "<i4";
    case DType::I64: return "<i8";
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::U8: return "|u1";
    case DType::BF16:
    case DType::U16: return "<u2";
    case DType::U32: return "<u4";
    case DType::U64: return "<u8";
    case DType::F16: return "<f2";
    case DType::F32: return "<f4";
    case DType::F64: return "<f8";
  }
  return "";
}

/// "[2, 3]"
std::string text_of(const std::vector<std::int64_t> &shape) {
  std::string text;
  for (std::int64_t n : shape) append(text, "{}{}", text.empty() ? "" : ", ", n);
  return "[" + text + "]";
}

/// Reads the dictionary of the header.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string &path) : rest_(text), path_(path) {}

  NpyArray parse() {
    NpyArray array;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      entry(key, array);
      if (!accept(',') && peek() != '}') malformed();
    }
    if (array.descr.empty() || !has_shape_ || !has_order_) malformed();
    return array;
  }

 private:
  [[noreturn]] void malformed() const {
    refuse(ErrorCode::Io, "{}: the header is not that of a .npy file", path_);
  }

  char peek() {
    std::size_t start = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(std::min(start, rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }
  bool accept_word(std::string_view word) {
    peek();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    std::size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) malformed();
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::int64_t number() {
    constexpr ExactArithmetic kExact{ErrorCode::Io, "an extent of the .npy file"};
    if (peek() < '0' || peek() > '9') malformed();
    std::int64_t value = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1))
      value = kExact.add(kExact.mul(value, 10), rest_[0] - '0');
    return value;
  }

  void entry(const std::string &key, NpyArray &array) {
    if (key == "descr") {
      if (peek() == '[') refuse(ErrorCode::Io, "{}: an array of records; save plain arrays", path_);
      array.descr = quoted();
    } else if (key == "fortran_order") {
      has_order_ = true;
      fortran_ = accept_word("True");
      if (!fortran_ && !accept_word("False")) malformed();
    } else if (key == "shape") {
      has_shape_ = true;
      expect('(');
      while (!accept(')')) {
        array.shape.push_back(number());
        if (!accept(',') && peek() != ')') malformed();
      }
    } else {
      malformed();
    }
    if (fortran_)
      refuse(ErrorCode::Io, "{}: in Fortran order; save np.ascontiguousarray(array)", path_);
  }

  std::string_view rest_;
  const std::string &path_;
  bool has_shape_ = false, has_order_ = false, fortran_ = false;
};

/// Bytes of an element: the number behind kind and byte order.
std::int64_t item_bytes(const std::string &descr, const std::string &path) {
  std::size_t size = 0;
  for (std::size_t i = 2; i < descr.size() && size < 1000; ++i) {
    if (descr[i] < '0' || descr[i] > '9') size = 1000;
    size = size * 10 + static_cast<std::size_t>(descr[i] - '0');
  }
  if (size == 0 || size > 16 || descr[1] == 'O')
    refuse(ErrorCode::Io, "{}: elements of dtype '{}' are no numbers", path, descr);
  return static_cast<std::int64_t>(size);
}

bool holds(const std::string &descr, DType type) {
  if (descr == descr_of(type)) return true;
  bool raw = type == DType::BF16 || is_float8(type);
  return raw && descr.substr(1) == "V" + std::to_string(size_of(type));
}

void check_bools(const Tensor &tensor, const std::string &path) {
  for (std::size_t i = 0; is_bool(tensor.dtype) && i < tensor.bytes.size(); ++i)
    if (tensor.bytes[i] > std::byte{1})
      refuse(ErrorCode::DType, "{}: element {} is a bool of {}; it must be 0 or 1", path, i,
             static_cast<int>(tensor.bytes[i]));
}

}  // namespace

NpyArray parse_npy(std::string_view contents, const std::string &path) {
  constexpr ExactArithmetic kExact{ErrorCode::Io, "the size of the .npy file"};
  auto byte = [&](std::size_t i) { return static_cast<std::size_t>(std::uint8_t(contents[i])); };
  if (contents.substr(0, kMagic.size()) != kMagic || contents.size() < 12)
    refuse(ErrorCode::Io, "{} is no .npy file", path);
  std::size_t version = byte(6), start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3)
    refuse(ErrorCode::Io, "{}: version {} of the .npy format is not known", path, version);
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > contents.size() - start) refuse(ErrorCode::Io, "{} is cut off in its header", path);
  NpyArray array = HeaderParser(contents.substr(start, length), path).parse();
  contents.remove_prefix(start + length);
  std::int64_t bytes = item_bytes(array.descr, path);
  for (std::int64_t n : array.shape) bytes = kExact.mul(bytes, n);
  if (contents.size() != static_cast<std::size_t>(bytes))
    refuse(ErrorCode::Io, "{}: {} of '{}' has {} bytes; the file holds {}", path,
           text_of(array.shape), array.descr, bytes, contents.size());
  array.bytes.resize(contents.size());
  if (!contents.empty()) std::memcpy(array.bytes.data(), contents.data(), contents.size());
  return array;
}

Tensor to_tensor(NpyArray array, DType type, const std::string &path) {
  if (array.descr[0] == '>')
    refuse(ErrorCode::DType, "{}: '{}' is big-endian; save array.astype('<{}')", path, array.descr,
           array.descr.substr(1));
  if (!holds(array.descr, type))
    refuse(ErrorCode::DType, "{}: dtype '{}'; {} is '{}' in a .npy file{}", path, array.descr,
           to_string(type), descr_of(type),
           type == DType::BF16 || is_float8(type) ? ", the bits" : "");
  Tensor tensor;
  tensor.dtype = type;
  tensor.shape = std::move(array.shape);
  tensor.bytes = std::move(array.bytes);
  check_bools(tensor, path);
  return tensor;
}

std::string to_npy(const Tensor &tensor) {
  std::string shape;
  for (std::int64_t n : tensor.shape) append(shape, "{}{}", shape.empty() ? "" : ", ", n);
  if (tensor.shape.size() == 1) shape += ",";
  std::string header = formatted("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 descr_of(tensor.dtype), shape);
  constexpr std::size_t kPrefix = 10;
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file +=
      {'\x01', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}
