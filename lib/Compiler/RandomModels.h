// SPDX-License-Identifier: Apache-2.0
/// \file
/// Models from a config alone: what CONFIG means on the command line, and `moec synth`.
/// Main source: docs/synthetic-models.md.
#ifndef LIB_COMPILER_RANDOMMODELS_H
#define LIB_COMPILER_RANDOMMODELS_H

#include "lib/Import/Checkpoint.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace moec {

/// Names of the configs that the compiler knows.
std::vector<std::string> builtInConfigNames();

/// Fills name, config, generation and tokenizer of a model. `config` is a folder with a config.json (and perhaps a
/// generation_config.json and a tokenizer.json), a file, a gguf file, or a built-in name; a path that exists comes
/// first. Errors: none of them; a file that cannot be read.
llvm::Expected<RandomModel> readRandomModel(llvm::StringRef config);

struct SynthOptions {
  std::string config, output, tokenizer; ///< no tokenizer: that of the config's folder, or the bytes
  std::string dtype = "bf16";
  uint64_t seed = 0, shardBytes = kDefaultShardBytes;
  std::optional<uint32_t> zipfThousandths; ///< see RandomModel
};

/// Writes the random checkpoint. Errors: readRandomModel, Checkpoint::random, writeCheckpointFolder, a tokenizer that
/// the importer would refuse.
llvm::Error synthesize(const SynthOptions &options, llvm::raw_ostream &progress);

} // namespace moec

#endif
