# SPDX-License-Identifier: Apache-2.0
# CMakeLists.txt in this folder sets the variables.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${result}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${work})
# What was not built is left out, as after config/back-to-back/run of an older build folder.
run(${CMAKE_COMMAND} -S ${source} -B ${work}/empty -G ${generator} -D S5066_TESTS=OFF
    -D CMAKE_C_COMPILER=${cc} -D CMAKE_CXX_COMPILER=${cxx})
run(${CMAKE_COMMAND} --install ${work}/empty --prefix ${work}/nothing)
if(EXISTS ${work}/nothing/bin/s5066d)
  message(FATAL_ERROR "programs were installed that nobody built")
endif()

foreach(component IN ITEMS development programs)
  run(${CMAKE_COMMAND} --install ${build} --component ${component} --prefix ${work}/prefix)
endforeach()
foreach(file IN ITEMS bin/s5066d bin/hfmodem bin/s5066-relay bin/s5066-acp142 bin/s5066-ip bin/sis_cat bin/s5066
                      bin/s5066-setup bin/s5066-traffic bin/s5066-chat share/man/man1/s5066-traffic.1
                      lib/systemd/system/s5066d@.service lib/systemd/system/s5066-relay@.service
                      lib/systemd/system/s5066-acp142@.service lib/systemd/system/hfmodem@.service
                      lib/sysusers.d/s5066.conf lib/tmpfiles.d/s5066.conf
                      lib/udev/rules.d/60-s5066.rules
                      share/man/man8/s5066d.8 share/man/man1/hfmodem-doctor.1
                      share/man/man5/s5066-mail.textproto.5
                      share/bash-completion/completions/hfmodem)
  if(NOT EXISTS ${work}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
execute_process(COMMAND readelf --sections ${work}/prefix/bin/s5066d OUTPUT_VARIABLE sections)
if(sections MATCHES "\\.symtab" OR NOT sections MATCHES "\\.text")
  message(FATAL_ERROR "the installed s5066d is not stripped")
endif()
foreach(program IN ITEMS s5066d s5066-relay s5066-acp142 hfmodem)
  file(STRINGS ${work}/prefix/lib/systemd/system/${program}@.service starts REGEX "^ExecStart=")
  string(FIND "${starts}" "ExecStart=${work}/prefix/bin/${program} " at)
  if(NOT at EQUAL 0)
    message(FATAL_ERROR "the unit of ${program} does not start what was installed: ${starts}")
  endif()
  # The process that unkeys the transmitter after a modem died must not be killed with it.
  file(STRINGS ${work}/prefix/lib/systemd/system/${program}@.service modes REGEX "^KillMode=process")
  if(program MATCHES "^(s5066d|hfmodem)$" AND NOT modes)
    message(FATAL_ERROR "the unit of ${program} kills more than the program")
  endif()
endforeach()

# The folder moves after the install, as packages do, so no file may contain the first path.
file(RENAME ${work}/prefix ${work}/moved)
set(flags "")
if(sanitize)
  set(flags "-fsanitize=${sanitize}")
endif()
run(${CMAKE_COMMAND} -S ${outside} -B ${work}/outside -G ${generator}
    -D CMAKE_PREFIX_PATH=${work}/moved -D CMAKE_BUILD_TYPE=Debug
    -D CMAKE_C_COMPILER=${cc} -D CMAKE_CXX_COMPILER=${cxx}
    -D CMAKE_C_FLAGS=${flags} -D CMAKE_CXX_FLAGS=${flags})
run(${CMAKE_COMMAND} --build ${work}/outside)
foreach(program IN ITEMS core client plain_c)
  run(${work}/outside/${program})
endforeach()
