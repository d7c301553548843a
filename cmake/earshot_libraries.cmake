# The Debian packages earshot stands on. Each is linked by exactly the room that hides it.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nng CONFIG REQUIRED)
find_package(libwebsockets CONFIG REQUIRED)
foreach(module libsrtp2 opus libprotobuf-c yaml-0.1 jansson speexdsp hiredis cmocka)
  string(MAKE_C_IDENTIFIER ${module} name)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
endforeach()

find_program(PROTOC_C protoc-c REQUIRED)

# flite has neither .pc nor CMake files.
find_path(FLITE_INCLUDE_DIR flite/flite.h REQUIRED)
add_library(earshot_flite INTERFACE)
target_include_directories(earshot_flite SYSTEM INTERFACE ${FLITE_INCLUDE_DIR})
target_link_libraries(earshot_flite INTERFACE flite_cmu_us_slt flite_usenglish flite_cmulex flite m)
