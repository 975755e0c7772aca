# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DOUTPUT=F "-DFILES=a.mlir|b.mlir" -P embed.cmake
# Writes the files as initialisers {"name", "text"}.
string(REPLACE "|" ";" files "${FILES}")
set(result "")
foreach(file ${files})
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND result "{\"${name}\",\nR\"MLATILE(${text})MLATILE\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${result}")
