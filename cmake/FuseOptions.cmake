# Warnings, sanitizers and section flags, carried by one interface target.
add_library(fuse_options INTERFACE)
target_compile_options(fuse_options INTERFACE
  -Wall -Wextra -Werror=switch
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false positives of GCC 12 in std::string
  $<$<CXX_COMPILER_ID:Clang>:-Wshadow> -ffunction-sections -fdata-sections)
if(FUSE_WERROR)
  # GCC 12 judges the bounds of what it has inlined, and errs: such warnings stay warnings.
  target_compile_options(fuse_options INTERFACE -Werror
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=stringop-overflow>"
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overread;-Wno-error=maybe-uninitialized>")
endif()
if(FUSE_SANITIZE)
  target_compile_options(fuse_options INTERFACE
    -fsanitize=${FUSE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    # The driver's functions are called through types of our own.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(fuse_options INTERFACE -fsanitize=${FUSE_SANITIZE})
endif()
if(FUSE_BUILD_FUZZ)
  target_compile_options(fuse_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# A room is a directory of lib/: one OBJECT library, so that the shared library keeps every symbol.
function(fuse_room name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)
  target_include_directories(${name} SYSTEM PRIVATE ${FUSE_FMT_INCLUDE})
  target_compile_definitions(${name} PRIVATE FUSE_BUILDING)
  target_link_libraries(${name} PRIVATE fuse_options)
endfunction()
