option(NELIROUTE_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})

if(NELIROUTE_INSTALL)
  include(CMakePackageConfigHelpers)
  include(GNUInstallDirs)
  # What must be built for an installation: less than a whole build.
  add_custom_target(installable)
  install(TARGETS neliroute_api EXPORT neliroute-targets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  set_target_properties(neliroute_api PROPERTIES EXPORT_NAME api)
  # Of these, libraries alone: their headers are private.
  foreach(room asio base net slots placement neli_core quorum voter kafka ledger_parts ledger_etcd
      ledger_memory ledger_postgres ledger_quorum ledgers
      router metrics admin forward)
    if(TARGET neliroute_${room})
      set_target_properties(neliroute_${room} PROPERTIES EXPORT_NAME ${room})
      add_dependencies(installable neliroute_${room})
      install(TARGETS neliroute_${room} EXPORT neliroute-targets)
    endif()
  endforeach()
  if(TARGET neliroute)
    install(TARGETS neliroute)
    add_dependencies(installable neliroute)
  endif()
  if(TARGET neliroute_texts)
    add_dependencies(installable neliroute_texts)
    set(texts ${PROJECT_BINARY_DIR}/tool)
    install(FILES ${texts}/neliroute.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    set(share ${CMAKE_INSTALL_DATADIR})
    install(FILES ${texts}/neliroute.bash RENAME neliroute
      DESTINATION ${share}/bash-completion/completions)
    install(FILES ${texts}/_neliroute DESTINATION ${share}/zsh/site-functions)
    install(FILES ${texts}/neliroute.fish DESTINATION ${share}/fish/vendor_completions.d)
  endif()

  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/neliroute)
  configure_package_config_file(cmake/neliroute-config.cmake.in neliroute-config.cmake
    INSTALL_DESTINATION ${folder} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(neliroute-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(EXPORT neliroute-targets NAMESPACE neliroute:: DESTINATION ${folder})
  install(FILES
    ${PROJECT_BINARY_DIR}/neliroute-config.cmake
    ${PROJECT_BINARY_DIR}/neliroute-config-version.cmake
    DESTINATION ${folder})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
  if(NELIROUTE_RDKAFKA_KIND STREQUAL "bundled")
    install(FILES ${neliroute_rdkafka_prefix}/share/LICENSES.txt
      DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME librdkafka-LICENSES.txt)
  endif()
endif()
