# SPDX-License-Identifier: Apache-2.0
# Code for Android without an NDK: clang with its own headers, and the prototypes in runtime/bionic instead of a C
# library's. Without -nostdinc clang would take the build machine's /usr/include. docs/decisions says more.
find_program(MOEC_CLANGXX NAMES clang++-22 clang++ HINTS ${MOEC_LLVM_ROOT}/bin)
set(MOEC_BIONIC_TRIPLE aarch64-linux-android)
set(MOEC_BIONIC_API 28)
execute_process(COMMAND ${MOEC_CLANGXX} -print-resource-dir OUTPUT_VARIABLE MOEC_CLANG_RESOURCES
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(MOEC_BIONIC_FLAGS --target=${MOEC_BIONIC_TRIPLE}${MOEC_BIONIC_API} -march=armv8-a -mno-outline-atomics -std=c++20
  -O2 -DNDEBUG -Wall -Wextra -fPIC -fvisibility=hidden -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics
  -ffunction-sections -fdata-sections -ffp-contract=off -fno-math-errno -fno-stack-protector -U_FORTIFY_SOURCE
  -fno-asynchronous-unwind-tables -fno-unwind-tables -nostdinc -nostdinc++ -isystem ${CMAKE_SOURCE_DIR}/runtime/bionic
  -isystem ${MOEC_CLANG_RESOURCES}/include -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_BINARY_DIR})

# moec_bionic_archive(NAME OUTPUT SOURCES.. [FLAGS ..] [DEPENDS ..]): an archive for Android; target NAME.
function(moec_bionic_archive name output)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS;DEPENDS" ${ARGN})
  set(objects)
  foreach(source ${ARG_SOURCES})
    file(RELATIVE_PATH short ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${MOEC_BIONIC_TRIPLE}/${short}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object}
      COMMAND ${MOEC_CCACHE} ${MOEC_CLANGXX} ${MOEC_BIONIC_FLAGS} ${ARG_FLAGS} -MD -MF ${object}.d -MT ${object}
              -c ${source} -o ${object}
      DEPENDS ${source} ${ARG_DEPENDS} DEPFILE ${object}.d
      COMMENT "Building ${MOEC_BIONIC_TRIPLE} object ${short}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  get_filename_component(folder ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${output}
    COMMAND ${MOEC_LLVM_ROOT}/bin/llvm-ar qcs ${output} ${objects}
    DEPENDS ${objects} COMMENT "Linking ${output}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${output})
endfunction()
