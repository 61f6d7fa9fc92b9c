# SPDX-License-Identifier: Apache-2.0
# Headers keep their paths below include/s5066, so that an include of "sis/client.h" also works from
# an installed tree. find_package(s5066) defines s5066::sis, s5066::sis_client and s5066::sis_c.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/s5066)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/s5066)
foreach(name IN ITEMS base sis sis_client sis_c)
  set_target_properties(s5066_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(s5066_${name} INTERFACE $<INSTALL_INTERFACE:${headers}>)
endforeach()
foreach(name IN ITEMS base sis sis_client)
  target_compile_features(s5066_${name} INTERFACE cxx_std_20)
endforeach()

add_dependencies(installed s5066_sis_client s5066_sis_c)
install(TARGETS s5066_base s5066_sis EXPORT s5066-core COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
install(TARGETS s5066_sis_client EXPORT s5066-client COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
install(TARGETS s5066_sis_c EXPORT s5066-c
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development OPTIONAL)
foreach(set IN ITEMS core client c)
  install(EXPORT s5066-${set} NAMESPACE s5066:: DESTINATION ${package} COMPONENT development)
endforeach()

file(GLOB base_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/s5066d/base/*.h)
file(GLOB sis_headers CONFIGURE_DEPENDS *.h)
list(FILTER sis_headers EXCLUDE REGEX "/client_connection\\.h$")
install(FILES ${base_headers} DESTINATION ${headers}/s5066d/base COMPONENT development)
install(FILES ${sis_headers} DESTINATION ${headers}/sis COMPONENT development)
install(FILES c/s5066_sis.h DESTINATION ${headers}/sis/c COMPONENT development)

configure_package_config_file(s5066-config.cmake.in s5066-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(s5066-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/s5066-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/s5066-config-version.cmake
        DESTINATION ${package} COMPONENT development)

s5066_install_program(sis_cat)
