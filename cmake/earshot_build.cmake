# How every C file of earshot is compiled.

include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(EARSHOT_WERROR "Warnings are errors (on in ./dev check and CI)" OFF)
option(EARSHOT_TESTS "Build the tests" ON)
option(EARSHOT_BENCH "Have the benchmarks as targets, which only ./dev bench builds" ON)
option(EARSHOT_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(EARSHOT_SANITIZE "" CACHE STRING "Comma list for -fsanitize=, as address,undefined")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

# Assertions stay on in every build: docs/decisions/0010-assertions-stay-on.md.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
endforeach()
# An assertion names a file of the tree, not of the machine that built it.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

add_library(earshot_options INTERFACE)
target_compile_definitions(earshot_options INTERFACE _GNU_SOURCE EARSHOT_VERSION="${PROJECT_VERSION}")
target_include_directories(earshot_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(earshot_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wformat=2 $<$<BOOL:${EARSHOT_WERROR}>:-Werror>)

if(EARSHOT_SANITIZE)
  add_compile_options(-fsanitize=${EARSHOT_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${EARSHOT_SANITIZE})
endif()
if(EARSHOT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Hardening list: docs/decisions/0001-build.md.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
    -fstack-clash-protection -fcf-protection)
  check_c_compiler_flag(-ftrivial-auto-var-init=zero HAS_ZERO_INIT) # gcc 12, clang 16
  if(HAS_ZERO_INIT)
    add_compile_options(-ftrivial-auto-var-init=zero)
  endif()
  add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
