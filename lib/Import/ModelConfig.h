// SPDX-License-Identifier: Apache-2.0
/// \file
/// config.json of a qwen3_moe checkpoint, checked. Part of the import step. Main source: transformers'
/// `models/qwen3_moe/configuration_qwen3_moe.py`.
#ifndef LIB_IMPORT_MODELCONFIG_H
#define LIB_IMPORT_MODELCONFIG_H

#include "lib/Support/JsonCursor.h"

namespace moec {

/// What the model computes. All counts are positive and within the limits of ModelConfig.cpp, so that products of two
/// of them fit in 64 bits.
struct Qwen3MoeConfig {
  uint64_t hiddenSize = 0;
  uint64_t numLayers = 0;
  uint64_t numHeads = 0;
  uint64_t numKvHeads = 0; // divides numHeads
  uint64_t headDim = 0;    // even
  uint64_t moeIntermediateSize = 0;
  uint64_t numExperts = 0;
  uint64_t topK = 0; // 1 to numExperts
  uint64_t vocabSize = 0;
  uint64_t maxPositionEmbeddings = 0;
  uint64_t slidingWindow = 0; // positions that a token sees, its own included; 0: all
  double rmsNormEps = 0;
  double ropeTheta = 0;
  bool normTopkProb = false;
  bool tieWordEmbeddings = false;
  bool attentionBias = false;   // true is refused for now
  std::vector<uint32_t> eosIds; // below vocabSize; may be empty
};

/// Checks the kind of checkpoint (model_type, quantization_config), then reads every field.
///
/// Errors: an unsupported kind, with what to download instead; a field that is missing, of a wrong type or out of its
///         limits: `config.json: num_experts_per_tok is 17, expects 1 to 16 (num_experts)`.
llvm::Expected<Qwen3MoeConfig> parseModelConfig(const JsonCursor &root);

/// An id or a list of ids, each below `vocabSize`; duplicates are dropped.
llvm::Expected<std::vector<uint32_t>> parseTokenIds(const JsonCursor &field, uint64_t vocabSize);

} // namespace moec
#endif
