# SPDX-License-Identifier: Apache-2.0
# Makes OUTPUT, a libc.so.6 of architecture ARCH with the symbols of the file SYMBOLS (described in TEXT), after
# checking that ARCHIVE needs no symbol beside those (and those that the linker or the model's object defines).
file(STRINGS ${SYMBOLS} symbols REGEX "^[a-zA-Z_]")
execute_process(COMMAND ${NM} --undefined-only --just-symbol-name ${ARCHIVE} OUTPUT_VARIABLE undefined
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} --defined-only --extern-only --just-symbol-name ${ARCHIVE} OUTPUT_VARIABLE defined
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+" undefined "${undefined}")
string(REGEX MATCHALL "[^ \n]+" defined "${defined}")
list(REMOVE_DUPLICATES undefined)
list(REMOVE_ITEM undefined ${defined} ${symbols} __ehdr_start moert_model_v1 _GLOBAL_OFFSET_TABLE_)
list(FILTER undefined EXCLUDE REGEX ":$")
if(undefined AND NOT SANITIZE)
  message(FATAL_ERROR "${ARCHIVE} needs symbols that are not in ${SYMBOLS}: ${undefined}")
endif()
set(text "--- !ifs-v1\nIfsVersion: 3.0\nSoName: libc.so.6\n")
string(APPEND text "Target: { ObjectFormat: ELF, Arch: ${ARCH}, Endianness: little, BitWidth: 64 }\nSymbols:\n")
list(SORT symbols)
foreach(symbol ${symbols})
  string(APPEND text "  - { Name: ${symbol}, Type: Func }\n")
endforeach()
file(WRITE ${TEXT} "${text}...\n")
execute_process(COMMAND ${IFS} --input-format=IFS --output-elf=${OUTPUT} ${TEXT} COMMAND_ERROR_IS_FATAL ANY)
