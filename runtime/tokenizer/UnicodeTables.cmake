# SPDX-License-Identifier: Apache-2.0
# Makes the Unicode tables of the tokenizer in the build tree, which is an include root: sets MOERT_GENERATED to the file.
find_program(MOEC_PYTHON3 python3 REQUIRED)
set(MOERT_GENERATED ${CMAKE_BINARY_DIR}/runtime/tokenizer/UnicodeTables.inc)
set(moert_unicode_script ${CMAKE_SOURCE_DIR}/tools/dev/make-unicode-tables.py)
add_custom_command(OUTPUT ${MOERT_GENERATED}
  COMMAND ${MOEC_PYTHON3} ${moert_unicode_script} ${MOERT_GENERATED}
  DEPENDS ${moert_unicode_script} COMMENT "Making the Unicode tables" VERBATIM)
# Archives of several targets need the same file: one target makes it.
add_custom_target(moert-unicode-tables DEPENDS ${MOERT_GENERATED})
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/tokenizer/Unicode.cpp PROPERTIES OBJECT_DEPENDS
                            ${MOERT_GENERATED})
