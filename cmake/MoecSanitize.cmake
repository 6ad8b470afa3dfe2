# SPDX-License-Identifier: Apache-2.0
# Sanitizers for the whole project (docs/debugging.md). LLVM's shared libraries stay as they are. What goes to a device,
# the archive that every model .so is linked with and the generated code, is never instrumented.
set(MOEC_SANITIZE "" CACHE STRING "Empty, address (with undefined) or thread")
set_property(CACHE MOEC_SANITIZE PROPERTY STRINGS "" address thread)
option(MOEC_FUZZ "Build the libFuzzer programs of test/fuzz (clang; MOEC_SANITIZE=address)" OFF)

if(MOEC_FUZZ AND NOT MOEC_SANITIZE STREQUAL "address")
  message(FATAL_ERROR "MOEC_FUZZ expects MOEC_SANITIZE=address, found '${MOEC_SANITIZE}'")
endif()
if(MOEC_SANITIZE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "MOEC_SANITIZE expects clang, found ${CMAKE_CXX_COMPILER_ID}: use a preset")
endif()

set(MOEC_SANITIZE_FLAGS)
if(MOEC_SANITIZE STREQUAL "address")
  # vptr and function look for type information that LLVM's libraries and -fno-rtti code do not have.
  set(MOEC_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=undefined)
elseif(MOEC_SANITIZE STREQUAL "thread")
  set(MOEC_SANITIZE_FLAGS -fsanitize=thread)
elseif(MOEC_SANITIZE)
  message(FATAL_ERROR "MOEC_SANITIZE is '${MOEC_SANITIZE}', expects address, thread or nothing")
endif()
if(MOEC_SANITIZE)
  # Inputs must not reach an assertion either, so they are on.
  set(MOEC_SANITIZE_COMPILE_FLAGS ${MOEC_SANITIZE_FLAGS} -UNDEBUG -g1 -O1 -fno-omit-frame-pointer)
  if(MOEC_FUZZ)
    list(APPEND MOEC_SANITIZE_COMPILE_FLAGS -fsanitize=fuzzer-no-link)
  endif()
  add_compile_options(${MOEC_SANITIZE_COMPILE_FLAGS})
  add_link_options(${MOEC_SANITIZE_FLAGS})
  add_library(MoecSanitizeOptions OBJECT ${CMAKE_SOURCE_DIR}/cmake/SanitizeOptions.cpp)
endif()

# moec_sanitized_program(NAME): gives a program what it asks of the sanitizers; nothing in a build without them.
function(moec_sanitized_program name)
  if(MOEC_SANITIZE)
    target_link_libraries(${name} PRIVATE MoecSanitizeOptions)
  endif()
endfunction()
