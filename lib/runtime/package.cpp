// Packages as bytes. The checksum finds accidents; after it, whatever the bytes say is still taken
// for hostile: counts are bounded by what is left, and texts are parsed and verified.
#include "runtime/package.h"

#include "ir/bytes.h"
#include "ir/format.h"
#include "ir/program_text.h"
#include "ir/target_text.h"
#include "runtime/hash.h"

#include <algorithm>
#include <cctype>

namespace fuse {

namespace {

constexpr std::string_view kMagic = "fusejit\n";
constexpr const char *kWhat = "serialized executable";
constexpr std::size_t kNumber = 8;  // bytes of a number

// --- Interface ---------------------------------------------------------------------------------

/// A program without kernels. What extents are at least is a limit of what they lack.
std::string text_of(const Interface &interface) {
  Program p;
  p.name = interface.name;
  p.inputs = interface.inputs;
  p.outputs = interface.outputs;
  p.symbols = interface.symbols;
  for (const auto &[extent, least, words] : interface.least_extents)
    p.limits.push_back({Limit::Kind::Minimum, Index(least) - Index(extent), 0, words});
  return to_string(p);
}

Interface interface_of(std::string_view text) {
  Program p = parse_program(text, "<interface>");
  Interface interface{std::move(p.name), std::move(p.inputs), std::move(p.outputs),
                      std::move(p.symbols)};
  for (const Limit &limit : p.limits)
    if (std::optional<Dim> extent = to_dim(Index(0) - limit.value))
      interface.least_extents.push_back({*extent, 0, limit.why});
  return interface;
}

// --- Options -----------------------------------------------------------------------------------

void write(ByteWriter &out, const std::vector<std::string> &texts) {
  out.number(texts.size());
  for (const std::string &text : texts) out.text(text);
}

std::vector<std::string> read_texts(ByteReader &in) {
  std::vector<std::string> texts(in.count(kNumber));
  for (std::string &text : texts) text = in.text();
  return texts;
}

void write(ByteWriter &out, const CompileOptions &options) {
  out.number(options.strict);
  out.number(options.batch_invariant);
  out.number(options.no_recompile);
  out.number(options.expected_sizes.size());
  for (const auto &[name, size] : options.expected_sizes) {
    out.text(name);
    out.number(static_cast<std::uint64_t>(size));
  }
  write(out, options.overrides.keep);
  write(out, options.overrides.recompute);
  out.number(options.overrides.no_fuse.size());
  for (const std::vector<std::string> &set : options.overrides.no_fuse) write(out, set);
  out.number(options.in_place.size());
  for (const auto &[input, output] : options.in_place) {
    out.text(input);
    out.text(output);
  }
}

CompileOptions read_options(ByteReader &in) {
  CompileOptions options;
  options.strict = in.flag();
  options.batch_invariant = in.flag();
  options.no_recompile = in.flag();
  for (std::size_t n = in.count(2 * kNumber); n > 0; --n) {
    std::string name = in.text();
    options.expected_sizes[name] = static_cast<std::int64_t>(in.number());
  }
  options.overrides.keep = read_texts(in);
  options.overrides.recompute = read_texts(in);
  for (std::size_t n = in.count(kNumber); n > 0; --n)
    options.overrides.no_fuse.push_back(read_texts(in));
  for (std::size_t n = in.count(2 * kNumber); n > 0; --n) {
    std::string input = in.text();
    options.in_place.push_back({std::move(input), in.text()});
  }
  return options;
}

// --- Variants ----------------------------------------------------------------------------------

void write(ByteWriter &out, const ArgumentClass &argument) {
  const auto &[strided, alignment, has_rows, shifted] = argument;
  out.number(static_cast<std::uint64_t>(alignment) | (strided ? 256u : 0u) |
             (has_rows ? 512u : 0u) | (shifted ? 1024u : 0u));
}

ArgumentClass read_argument(ByteReader &in) {
  std::uint64_t bits = in.number(2047);
  ArgumentClass argument;
  argument.alignment = static_cast<int>(bits & 255);
  argument.strided = (bits & 256) != 0;
  argument.has_rows = (bits & 512) != 0;
  argument.shifted = (bits & 1024) != 0;
  bool is_power = argument.alignment > 0 && (argument.alignment & (argument.alignment - 1)) == 0;
  in.require(is_power && argument.alignment <= 16);
  return argument;
}

void write(ByteWriter &out, const GpuCode &code) {
  out.text(code.ptx);
  out.number(code.cubins.size());
  for (const auto &[sm, driver, image] : code.cubins) {
    out.number(static_cast<std::uint64_t>(sm));
    out.number(static_cast<std::uint64_t>(driver));
    out.text(image);
  }
}

GpuCode read_gpu_code(ByteReader &in) {
  constexpr std::uint64_t kMax = 1 << 20;
  GpuCode code{in.text(), {}};
  for (std::size_t n = in.count(3 * kNumber); n > 0; --n) {
    int sm = static_cast<int>(in.number(kMax)), driver = static_cast<int>(in.number(kMax));
    code.cubins.push_back({sm, driver, in.text()});
  }
  return code;
}

void write(ByteWriter &out, const VariantCode &code) {
  out.number(code.gpu.size());
  for (const GpuCode &gpu : code.gpu) write(out, gpu);
  write(out, code.host);
}

VariantCode read_code(ByteReader &in) {
  VariantCode code;
  for (std::size_t n = in.count(2 * kNumber); n > 0; --n) code.gpu.push_back(read_gpu_code(in));
  code.host = read_texts(in);
  return code;
}

bool same(const std::vector<Argument> &a, const std::vector<Argument> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Argument &x, const auto &y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape &&
           x.is_scalar == y.is_scalar;
  });
}

bool same(const std::vector<Symbol> &a, const std::vector<Symbol> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Symbol &x, const Symbol &y) {
    return x.name == y.name && x.bounds.min == y.bounds.min && x.bounds.max == y.bounds.max &&
           x.bounds.divisor == y.bounds.divisor;
  });
}

/// Sizes that kernels and limits speak of are symbols and strides of the class.
bool fits(const Program &program, const VariantClass &arguments, const Interface &interface) {
  std::size_t inputs = program.inputs.size();
  if (!same(program.inputs, interface.inputs) || !same(program.outputs, interface.outputs) ||
      !same(program.symbols, interface.symbols) ||
      arguments.size() != inputs + program.outputs.size())
    return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument &a = i < inputs ? program.inputs[i] : program.outputs[i - inputs];
    if (a.strided && !arguments[i].strided) return false;
  }
  return true;
}

// --- Header --------------------------------------------------------------------------------------

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 32));
  for (char &c : result)
    if (!std::isprint(static_cast<unsigned char>(c))) c = '?';
  return result;
}

void check_version(std::uint64_t format, std::string_view version) {
  if (format == kPackageFormat && version == FUSE_VERSION_STRING) return;
  fail(ErrorCode::Unsupported,
       "the serialized executable is of fuse {} (format {}): fuse {} reads its own (format {}); "
       "compile and serialize again",
       printable(version), format, FUSE_VERSION_STRING, kPackageFormat);
}

}  // namespace

std::string encode(const std::vector<StoredVariant> &variants) {
  ByteWriter out;
  out.number(variants.size());
  for (const StoredVariant &v : variants) {
    out.number(v.arguments.size());
    for (const ArgumentClass &argument : v.arguments) write(out, argument);
    out.text(to_string(v.program));
    write(out, v.code);
  }
  return out.take();
}

std::vector<StoredVariant> decode_variants(std::string_view bytes, const Interface &interface) {
  ByteReader in(bytes, kWhat);
  std::vector<StoredVariant> variants;
  for (std::size_t n = in.count(2 * kNumber); n > 0; --n) {
    StoredVariant v;
    for (std::size_t a = in.count(kNumber); a > 0; --a) v.arguments.push_back(read_argument(in));
    v.program = parse_program(in.view(), "<serialized>");
    v.code = read_code(in);
    in.require(fits(v.program, v.arguments, interface));
    variants.push_back(std::move(v));
  }
  in.require(in.left() == 0 && !variants.empty());
  return variants;
}

std::string encode(const Package &package) {
  ByteWriter body;
  body.text(text_of(package.interface));
  body.text(package.graph);
  write(body, package.options);
  body.number(package.sections.size());
  for (const Section &section : package.sections) {
    body.text(to_string(section.target));
    body.number(static_cast<std::uint64_t>(section.kind));
    body.text(section.cpu);
    body.number(section.has_general);
    body.text(section.variants);
  }
  std::string bytes = body.take();
  Hash128 checksum = hash128(bytes);
  ByteWriter header;
  header.number(kPackageFormat);
  header.text(FUSE_VERSION_STRING);
  header.number(bytes.size());
  header.number(checksum.lo);
  header.number(checksum.hi);
  return std::string(kMagic) + header.take() + bytes;
}

Package decode_body(std::string_view body) {
  ByteReader in(body, kWhat);
  Package package;
  package.interface = interface_of(in.view());
  package.graph = in.text();
  package.options = read_options(in);
  for (std::size_t n = in.count(5 * kNumber); n > 0; --n) {
    Section section;
    section.target = parse_target(in.view(), "<target>");
    section.kind = static_cast<CodeKind>(in.number(static_cast<std::uint64_t>(CodeKind::Host)));
    section.cpu = in.text();
    section.has_general = in.flag();
    section.variants = in.text();
    package.sections.push_back(std::move(section));
  }
  in.require(in.left() == 0 && !package.sections.empty());
  return package;
}

Package decode_package(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    fail(ErrorCode::Parse, "{} bytes are no {}: they do not begin with 'fusejit'", bytes.size(),
         kWhat);
  ByteReader in(bytes.substr(kMagic.size()), kWhat);
  std::uint64_t format = in.number();
  check_version(format, in.view());
  std::uint64_t length = in.number();
  Hash128 checksum;
  checksum.lo = in.number();
  checksum.hi = in.number();
  if (in.left() != length)
    fail(ErrorCode::Parse, "the {} is torn: {} bytes are there of {}", kWhat, in.left(), length);
  std::string_view body = in.bytes(length);
  if (hash128(body) != checksum)
    fail(ErrorCode::Parse,
         "the {} is damaged: its checksum is not that of its bytes; write it again", kWhat);
  return decode_body(body);
}

}  // namespace fuse
