# Installation: the library, its headers, the CMake package `fusejit` with the target
# fusejit::fusejit, fusejit.pc, the tools and the documents. Nothing is named fuse: that belongs to the filesystem library.
include(CMakePackageConfigHelpers)

set(FUSE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/fusejit)
install(TARGETS fusejit EXPORT fusejit FILE_SET HEADERS FILE_SET tables)
install(EXPORT fusejit NAMESPACE fusejit:: DESTINATION ${FUSE_PACKAGE_DIR}
  FILE fusejitTargets.cmake)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fusejitConfig.cmake.in
  ${PROJECT_BINARY_DIR}/fusejitConfig.cmake INSTALL_DESTINATION ${FUSE_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fusejitConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fusejitConfig.cmake
  ${PROJECT_BINARY_DIR}/fusejitConfigVersion.cmake DESTINATION ${FUSE_PACKAGE_DIR})

# Relative to the file itself, so that an installed tree may be moved.
file(RELATIVE_PATH FUSE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/fusejit.pc.in ${PROJECT_BINARY_DIR}/fusejit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fusejit.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN *.md)

if(FUSE_BUILD_TOOLS)
  file(RELATIVE_PATH FUSE_BIN_TO_LIB /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(fuse-opt fuse-bench PROPERTIES INSTALL_RPATH "$ORIGIN/${FUSE_BIN_TO_LIB}")
  install(TARGETS fuse-opt fuse-bench)
endif()
