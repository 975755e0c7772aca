# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# find_package(mlatile) for other projects, from the build tree and from an
# installation. Included last by the top CMakeLists.txt: it walks the link
# interface of the libraries that consumers name and exports what they need.
#
#   mlatile::runtime    C++ and C API of the host library; no LLVM or MLIR header
#   mlatile::compiler   the compiler in process; finds MLIR again
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Our own targets that `target` needs at link time, itself included -> variable
# `ours`; imported targets of other packages -> variable `foreign`.
function(mlatile_collect_links target ours foreign)
  set(pending ${target})
  set(found "")
  set(others "")
  while(pending)
    list(POP_FRONT pending name)
    # $<LINK_ONLY:x> is a private dependency of a static library.
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" name "${name}")
    if(name IN_LIST found OR "${name}" MATCHES "^\\$<")
      continue()
    endif()
    if(NOT TARGET ${name})
      # A library by name, or an imported target that only its folder can see.
      if("${name}" MATCHES "::" OR "${name}" MATCHES "^(LLVM|MLIR)")
        list(APPEND others ${name})
      endif()
      continue()
    endif()
    get_target_property(original ${name} ALIASED_TARGET)
    if(original)
      list(APPEND pending ${original})
      continue()
    endif()
    get_target_property(imported ${name} IMPORTED)
    if(imported)
      list(APPEND others ${name})
      continue()
    endif()
    list(APPEND found ${name})
    get_target_property(links ${name} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND pending ${links})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES others)
  set(${ours} ${found} PARENT_SCOPE)
  set(${foreign} ${others} PARENT_SCOPE)
endfunction()

set(MLATILE_CONFIG_DIR ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/cmake/mlatile)
set(MLATILE_COMPONENTS "")
set(exported "")
set(MLATILE_PACKAGE_DEPENDENCIES "")
set(MLATILE_MLIR_HINT "${MLIR_DIR}")
foreach(component runtime compiler)
  if(NOT TARGET mlatile_${component})
    continue()
  endif()
  mlatile_collect_links(mlatile_${component} ours foreign)
  if(component STREQUAL "runtime" AND ("MLIR" IN_LIST foreign OR "LLVM" IN_LIST foreign))
    message(FATAL_ERROR "mlatile_runtime must not need LLVM or MLIR, but links ${foreign}")
  endif()
  set_target_properties(mlatile_${component} PROPERTIES EXPORT_NAME ${component})
  list(APPEND MLATILE_COMPONENTS ${component})
  list(APPEND exported ${ours})
  foreach(dependency ${foreign})
    if(dependency STREQUAL "Threads::Threads")
      list(APPEND MLATILE_PACKAGE_DEPENDENCIES "find_dependency(Threads)")
    elseif(dependency MATCHES "^Boost::(.*)$")
      list(APPEND MLATILE_PACKAGE_DEPENDENCIES "find_dependency(Boost COMPONENTS ${CMAKE_MATCH_1})")
    elseif(dependency MATCHES "^nlohmann_json::")
      list(APPEND MLATILE_PACKAGE_DEPENDENCIES "find_dependency(nlohmann_json)")
    elseif(dependency MATCHES "^(LLVM|MLIR|CLANG).*$")
      # For those who ask for the compiler: mlatileConfig.cmake.in.
    else()
      message(FATAL_ERROR "cmake/Package.cmake: mlatile_${component} links ${dependency}, of which no package is known")
    endif()
  endforeach()
endforeach()
if(NOT exported)
  return()
endif()
list(REMOVE_DUPLICATES exported)
list(REMOVE_DUPLICATES MLATILE_PACKAGE_DEPENDENCIES)
list(JOIN MLATILE_PACKAGE_DEPENDENCIES "\n" MLATILE_PACKAGE_DEPENDENCIES)

# Named in the interface of every library, and a consumer's CMake wants them to exist.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/include ${PROJECT_BINARY_DIR}/dialect/include)

install(TARGETS ${exported} EXPORT mlatile
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT mlatile NAMESPACE mlatile:: FILE mlatileTargets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlatile COMPONENT development)
export(EXPORT mlatile NAMESPACE mlatile:: FILE ${MLATILE_CONFIG_DIR}/mlatileTargets.cmake)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mlatileConfig.cmake.in ${MLATILE_CONFIG_DIR}/mlatileConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlatile NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${MLATILE_CONFIG_DIR}/mlatileConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${MLATILE_CONFIG_DIR}/mlatileConfig.cmake ${MLATILE_CONFIG_DIR}/mlatileConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mlatile COMPONENT development)

# Headers, the generated ones among them.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/include/mlatile ${PROJECT_SOURCE_DIR}/dialect/include/mlatile
  ${PROJECT_BINARY_DIR}/dialect/include/mlatile ${PROJECT_BINARY_DIR}/lib/include/mlatile
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development OPTIONAL
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels DESTINATION ${CMAKE_INSTALL_DATADIR}/mlatile COMPONENT development
  FILES_MATCHING PATTERN "*.mlir")
