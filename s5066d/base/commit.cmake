# SPDX-License-Identifier: Apache-2.0
# Writes the commit that a program was built from into a source of its own, and leaves the file alone
# if nothing has changed. Without git, or in a tree that is no working copy, there is no commit.
#
# cmake -D source=FOLDER -D out=FILE -P commit.cmake; the variable S5066_COMMIT comes first.
set(commit "$ENV{S5066_COMMIT}")
if(NOT commit)
  execute_process(COMMAND git -C ${source} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(top STREQUAL source)
    execute_process(COMMAND git -C ${source} rev-parse --short=8 HEAD
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT commit MATCHES "^[0-9a-f]*$")
  set(commit "")
endif()
set(text "// Made by s5066d/base/commit.cmake.
#include \"s5066d/base/version.h\"

namespace s5066 {
std::string_view commit() {
  return \"${commit}\";
}
}  // namespace s5066
")
if(EXISTS ${out})
  file(READ ${out} before)
endif()
if(NOT text STREQUAL "${before}")
  file(WRITE ${out} "${text}")
endif()
