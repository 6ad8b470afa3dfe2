# SPDX-License-Identifier: Apache-2.0
# moec_pass_library(NAME STAGE [DEPENDS libs..]): the passes of one stage: Passes.td and every .cpp of the folder.
function(moec_pass_library name stage)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${stage} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR})
  add_public_tablegen_target(${name}IncGen)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cpp)
  moec_library(${name} MLIR TABLEGEN ${name}IncGen SOURCES ${sources} DEPENDS MoeDialect ${ARG_DEPENDS})
endfunction()
