# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Helpers shared by every folder. Plain CMake targets linked against the shared
# MLIR and LLVM libraries; Debian's add_mlir_* macros pull in static archives.

# MLIR's headers dominate build time: one precompiled header serves every target
# that is compiled with the same flags.
function(mlatile_use_mlir target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${MLATILE_LLVM_DEFINITIONS})
  if(MLATILE_PCH AND TARGET mlatile_pch)
    target_precompile_headers(${target} REUSE_FROM mlatile_pch)
  endif()
endfunction()

function(mlatile_common target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lib/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/lib/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/dialect/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/dialect/include>)
  target_compile_options(${target} PRIVATE ${MLATILE_WARNINGS})
  # In the interface too: public headers need it of consumers whose compiler defaults to less.
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# mlatile_mlir_library(name SOURCES a.cpp ... LINK lib ... DEPENDS tablegen-target ...)
# A static library that uses MLIR.
function(mlatile_mlir_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  mlatile_common(${name})
  mlatile_use_mlir(${name})
  target_link_libraries(${name} PUBLIC ${A_LINK} MLIR LLVM)
  add_dependencies(${name} mlatile_tablegen ${A_DEPENDS})
endfunction()

# mlatile_library(name SOURCES ... LINK ...): a static library that needs no LLVM.
function(mlatile_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  mlatile_common(${name})
  target_link_libraries(${name} PUBLIC ${A_LINK})
endfunction()

# mlatile_program(name SOURCES ... LINK ... [MLIR]): lands in build/bin.
function(mlatile_program name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  mlatile_common(${name})
  # Programs use the libraries' precompiled header, whose flags must be equal.
  target_compile_options(${name} PRIVATE -fPIC)
  target_link_libraries(${name} PRIVATE ${A_LINK})
  if(A_MLIR)
    mlatile_use_mlir(${name})
    target_link_libraries(${name} PRIVATE MLIR LLVM)
    add_dependencies(${name} mlatile_tablegen)
  endif()
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE OFF
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
    INSTALL_RPATH $ORIGIN/../lib)
  if(LLVM_LIBRARY_DIR)
    set_target_properties(${name} PROPERTIES
      BUILD_RPATH "${LLVM_LIBRARY_DIR}" INSTALL_RPATH "${LLVM_LIBRARY_DIR};$ORIGIN/../lib")
  endif()
endfunction()

# mlatile_unit_test(name SOURCES ... LINK ... [MLIR]): a GoogleTest program, label "unit".
function(mlatile_unit_test name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK" ${ARGN})
  set(mlir "")
  if(A_MLIR)
    set(mlir MLIR)
  endif()
  mlatile_program(${name} ${mlir} SOURCES ${A_SOURCES} LINK ${A_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit)
endfunction()
