# One folder is one room is one static library: every .c file in it, but main.c.
#
#   earshot_room(NAME LIBRARIES...)            a room
#   earshot_program(NAME ROOM...)              main.c of this folder, linked with rooms

function(earshot_room name)
  file(GLOB sources CONFIGURE_DEPENDS *.c *.h)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.h "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.h)
  endif()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(${name} PUBLIC earshot_options ${ARGN})
endfunction()

function(earshot_program name)
  add_executable(${name} main.c)
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()
