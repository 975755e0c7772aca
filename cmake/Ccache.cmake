# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compile through ccache where it is installed. A precompiled header is cached
# only if clang leaves the time stamps of its inputs out of it and ccache does not
# insist on them; paths below the source folder are made relative, so that two
# clones share results.
option(MLATILE_CCACHE "compile through ccache if it is installed" ON)
if(MLATILE_CCACHE)
  find_program(MLATILE_CCACHE_PROGRAM ccache)
  mark_as_advanced(MLATILE_CCACHE_PROGRAM)
endif()
if(MLATILE_CCACHE AND MLATILE_CCACHE_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_CXX_COMPILER_LAUNCHER
    /usr/bin/env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    ${MLATILE_CCACHE_PROGRAM})
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
