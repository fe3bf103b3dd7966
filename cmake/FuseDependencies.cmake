# Packages. LLVM, zlib and zstd end up inside libfusejit.so, so their static archives are taken:
# LLVM's exports name zstd::libzstd_shared and ZLIB::ZLIB, and take whatever carries these names.
set(ZLIB_USE_STATIC_LIBS ON)
find_library(FUSE_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
if(NOT TARGET zstd::libzstd_shared)
  add_library(zstd::libzstd_shared STATIC IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${FUSE_ZSTD_ARCHIVE})
endif()
find_package(LLVM 22.1...<23 CONFIG REQUIRED)
llvm_map_components_to_libnames(FUSE_LLVM_LIBS
  core support analysis passes instrumentation coroutines nvptxcodegen nvptxdesc nvptxinfo
  asmparser irreader linker orcjit x86codegen x86desc x86info)

find_package(fmt 9 CONFIG REQUIRED)
get_target_property(FUSE_FMT_INCLUDE fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
find_package(Boost 1.74 REQUIRED)
find_package(Threads REQUIRED)
