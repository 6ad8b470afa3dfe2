// SPDX-License-Identifier: Apache-2.0
/// \file
/// generation_config.json: how the authors of a model want it sampled. Part of the import step. Main source:
/// transformers' `generation/configuration_utils.py`, whose values hold for absent fields.
#ifndef LIB_IMPORT_GENERATIONCONFIG_H
#define LIB_IMPORT_GENERATIONCONFIG_H

#include "lib/Import/ModelConfig.h"

namespace moec {

struct GenerationConfig {
  double temperature = 0; // 0: the most likely token; what holds unless do_sample is true
  uint32_t topK = 0;      // 0: no limit
  double topP = 1;        // 1: no limit
  std::vector<uint32_t> eosIds;
  /// Fields that ask for something that the sampler does not do, as `repetition_penalty is 1.05`; for a warning.
  std::vector<std::string> ignored;
};

/// What holds without the file: greedy, stopping at the ids of config.json.
GenerationConfig defaultGenerationConfig(const ModelConfig &config);

/// Reads the file. Without eos_token_id, the ids of config.json hold.
///
/// Errors: a value out of range; an id that is not below the vocabulary size.
llvm::Expected<GenerationConfig> parseGenerationConfig(const JsonCursor &root, const ModelConfig &config);

} // namespace moec
#endif
