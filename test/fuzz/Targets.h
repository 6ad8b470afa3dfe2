// SPDX-License-Identifier: Apache-2.0
/// \file
/// The readers that are fed arbitrary bytes, one function each. In an ordinary build Replay.cpp gives them the files of
/// corpus/ and crashers/; with MOEC_FUZZ, Entry.cpp makes a libFuzzer program of each. See docs/debugging.md.
#ifndef TEST_FUZZ_TARGETS_H
#define TEST_FUZZ_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace moec::fuzz {

using Bytes = llvm::ArrayRef<uint8_t>;

/// A safetensors file: its header, and the values of its first weights.
void fuzzSafetensors(Bytes input);
/// A gguf file: its header, its translation into a config, and the values of its weights.
void fuzzGguf(Bytes input);
/// config.json; if it is of a small model, also the graph builder. Behind a byte 0: generation_config.json.
void fuzzConfig(Bytes input);
/// tokenizer.json; what it gives is opened, and text is tokenized and decoded. Behind a byte 0: that text. An input
/// that begins with MOETOK_MAGIC is taken as the tables themselves.
void fuzzTokenizer(Bytes input);
/// A weight pack, for the compiler's reader and the runtime's. The first byte says what is mended (PackTarget.cpp), 144
/// bytes of header and everything from the directory on follow; the zeros between them are left out.
void fuzzPack(Bytes input);
/// A module as text: parse, verify, and the passes up to a plan.
void fuzzModule(Bytes input);

/// A folder in the system's place for temporary files, removed when the process ends.
const std::string &scratchFolder();
/// Replaces a file of that folder; returns its path. `sizeBytes` beyond the content is a hole.
std::string writeScratch(llvm::StringRef name, llvm::StringRef content, uint64_t sizeBytes = 0);

/// What stands before and behind the first byte 0.
std::pair<llvm::StringRef, llvm::StringRef> splitAtZero(Bytes input);
/// Ends the process if the error has no message of one line; consumes it.
void expectMessage(llvm::Error error);
/// Ends the process with `text` if `condition` does not hold.
void expect(bool condition, const char *text);

} // namespace moec::fuzz

#endif
