// The build id is a hash that the linker makes of the code and keeps in a note of the image. A
// version number alone would let a changed planner find the plans of the planner before it.
#include "runtime/build_id.h"

#include "codegen/codegen.h"
#include "ir/format.h"

#include <fuse/config.h>

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace fuse {

namespace {

/// The id in a segment of notes; empty if it holds none. Names and contents are padded to 4 bytes.
std::string find_build_id(std::string_view notes) {
  auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    std::size_t content = sizeof note + padded(note.n_namesz);
    std::size_t end = content + padded(note.n_descsz);
    if (end > notes.size()) return {};
    std::string_view name = notes.substr(sizeof note, note.n_namesz);
    std::string id;
    for (char c : notes.substr(content, note.n_descsz))
      append(id, "{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (note.n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU", 4)) return id;
    notes.remove_prefix(end);
  }
  return {};
}

struct Search {
  ElfW(Addr) address;  // in the image that is looked for
  std::string id;
};

bool holds(const dl_phdr_info &image, ElfW(Addr) address) {
  for (int i = 0; i < image.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = image.dlpi_phdr[i];
    ElfW(Addr) begin = image.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return true;
  }
  return false;
}

int visit(dl_phdr_info *image, std::size_t, void *data) {
  Search &search = *static_cast<Search *>(data);
  if (!holds(*image, search.address)) return 0;
  for (int i = 0; i < image->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr) &segment = image->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    auto begin = reinterpret_cast<const char *>(image->dlpi_addr + segment.p_vaddr);
    search.id = find_build_id({begin, segment.p_memsz});
  }
  return 1;
}

std::string build_id() {
  Search search{reinterpret_cast<ElfW(Addr)>(&visit), {}};
  ::dl_iterate_phdr(visit, &search);
  return search.id.empty() ? "none" : search.id;
}

}  // namespace

const std::string &library_build() {
  static const std::string &build = *new std::string(
      fmt::format("fuse {} build {} llvm {}", FUSE_VERSION_STRING, build_id(), llvm_version()));
  return build;
}

}  // namespace fuse
