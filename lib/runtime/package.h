// The file of an Executable: what it computes, and for each machine its programs and their code.
#pragma once

#include "ir/program.h"
#include "runtime/sizes.h"
#include "runtime/variant.h"

#include <fuse/compile.h>

#include <string>
#include <string_view>
#include <vector>

namespace fuse {

/// What a compiled function looks like from outside.
struct Interface {
  std::string name;
  std::vector<Argument> inputs, outputs;
  std::vector<Symbol> symbols;
  std::vector<LeastExtent> least_extents = {};
};

/// A variant as it lies in a file.
struct StoredVariant {
  VariantClass arguments;
  Program program;
  VariantCode code;
};

/// The code for one machine.
struct Section {
  Target target;
  CodeKind kind = CodeKind::Gpu;
  std::string cpu;           // CodeKind::Host: host_cpu()
  bool has_general = false;  // the second variant, or an only one, serves all sizes
  std::string variants;      // see encode()
};

struct Package {
  Interface interface;
  CompileOptions options;  // those that programs depend on, and no_recompile
  std::string graph;       // its text; empty: other sizes cannot be compiled
  std::vector<Section> sections;
};

/// Version of the form below. It changes with whatever is in the file: programs and the way in
/// which launches pass arguments to kernels among it.
inline constexpr std::uint64_t kPackageFormat = 2;

/// The bytes of a file: magic, format, version of the library, length and checksum, and the rest.
std::string encode(const Package &package);
std::string encode(const std::vector<StoredVariant> &variants);

/// The package of the bytes. Throws Parse for what is torn, damaged or no package, and Unsupported
/// for another format or version.
Package decode_package(std::string_view bytes);

/// What follows the header: decode_package() without the checks of the header.
Package decode_body(std::string_view body);

/// The variants of a section of the package, each of which fits the interface. Throws Parse.
std::vector<StoredVariant> decode_variants(std::string_view bytes, const Interface &interface);

}  // namespace fuse
