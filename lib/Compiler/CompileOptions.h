// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `moec compile` was asked for. Main source: docs/command-line.md.
#ifndef LIB_COMPILER_COMPILEOPTIONS_H
#define LIB_COMPILER_COMPILEOPTIONS_H

#include "lib/Quant/PrecisionRules.h"
#include "passes/Pipelines.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// Empty strings and absent values mean: not given.
struct CompileOptions {
  std::string model;     ///< checkpoint folder, with `isRandom` a config; empty with `from`
  bool isRandom = false; ///< weights are generated from `seed`
  uint64_t seed = 0;
  std::optional<uint32_t> zipfThousandths; ///< --routing of generated weights; absent: uniform
  std::string tokenizer; ///< tokenizer.json for generated weights; empty: that of the folder, or the bytes
  std::vector<std::string> targets;
  std::string quant, group, kv;
  std::string planFile;              ///< --plan-precision
  std::vector<PrecisionRule> rules;  ///< those of the plan file, then those of the command line
  std::optional<uint64_t> packBytes; ///< --pack-size: the precision follows from it
  std::optional<uint64_t> context, memoryBytes, chunk;
  std::optional<uint64_t> window, sinks;
  std::string predict; ///< where experts are guessed: on, far, early, late or off
  std::optional<Phase> to, from;
  std::string fromFile;
  std::string dumpFolder;
  std::string output; ///< prefix of all outputs
  std::string ndk;    ///< folder of an Android NDK
  std::string pack;   ///< path of the pack; empty: OUT.moepack
  uint64_t partBytes = 0;
  unsigned threads = 0; ///< of the pack writer and of hashing generated weights; 0: all cores
  bool isQuiet = false;
  bool isStrict = false; ///< what is odd in the checkpoint is an error
};

} // namespace moec

#endif
