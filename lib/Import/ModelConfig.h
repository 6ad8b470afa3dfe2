// SPDX-License-Identifier: Apache-2.0
/// \file
/// config.json of a checkpoint, checked: the facts of a decoder. Part of the import step. Main source: transformers'
/// `models/<model_type>/configuration_*.py`; which families there are: ModelFamily.h.
#ifndef LIB_IMPORT_MODELCONFIG_H
#define LIB_IMPORT_MODELCONFIG_H

#include "lib/Import/ModelFamily.h"
#include "lib/Support/JsonCursor.h"

namespace moec {

enum class MixerKind : uint8_t { Attention, Delta };

struct LayerConfig {
  MixerKind mixer = MixerKind::Attention;
  bool hasExperts = false; // else a dense feed-forward network
};

enum class RopeKind : uint8_t { Plain, Linear, Llama3 };

/// How positions rotate.
struct RopeConfig {
  RopeKind kind = RopeKind::Plain;
  uint64_t dim = 0; // values of each head that rotate: even, at most the head
  double theta = 0;
  double factor = 1;                    // Linear, Llama3
  double lowFactor = 0, highFactor = 0; // Llama3, low < high
  uint64_t originalPositions = 0;       // Llama3
};

/// Sizes of the Gated DeltaNet layers.
struct DeltaConfig {
  uint64_t numKeyHeads = 0;
  uint64_t numValueHeads = 0; // a multiple of numKeyHeads
  uint64_t keyDim = 0, valueDim = 0;
  uint64_t kernel = 0;        // columns of the convolution, at least 2
  bool isSigmoidGate = false; // else silu
};

/// How the checkpoint spells its tensors. The config gives what is common; a checkpoint that is opened shows it.
struct TensorSpelling {
  std::string prefix = "model."; // or "model.language_model."
  bool isFusedExperts = false;   // experts as one tensor of three dimensions
  bool isInterleaved = false;    // see ModelFamily
};

/// What the model computes. All counts are positive where they are used, and within the limits of ModelConfig.cpp, so
/// that products of two of them fit in 64 bits.
struct ModelConfig {
  std::string architecture; // model_type, without "_text"
  uint64_t hiddenSize = 0;
  uint64_t numLayers = 0;
  uint64_t numHeads = 0;
  uint64_t numKvHeads = 0;          // divides numHeads
  uint64_t headDim = 0;             // even
  uint64_t ffnSize = 0;             // of dense layers; 0: there are none
  uint64_t moeIntermediateSize = 0; // of an expert; this and the next two 0: no layer has experts
  uint64_t numExperts = 0;
  uint64_t topK = 0;                   // 1 to numExperts
  uint64_t sharedIntermediateSize = 0; // of the shared expert; 0: there is none
  uint64_t vocabSize = 0;
  uint64_t maxPositionEmbeddings = 0;
  uint64_t slidingWindow = 0; // positions that a token sees, its own included; 0: all
  double rmsNormEps = 0;
  RopeConfig rope;
  DeltaConfig delta; // where a layer is of this kind
  HeadNorm headNorm = HeadNorm::None;
  bool isZeroCentred = false; // norms multiply by 1 + w, but for that of DeltaNet
  bool hasOutputGate = false; // of attention
  bool hasQkvBias = false, hasOutputBias = false;
  bool normTopkProb = false;
  bool tieWordEmbeddings = false;
  std::vector<LayerConfig> layers; // numLayers; at least one with attention
  std::vector<uint32_t> eosIds;    // below vocabSize; may be empty
  TensorSpelling spelling;
};

/// Checks the kind of checkpoint (model_type, quantization_config), then reads every field. Models that also see have
/// the fields of their text part in `text_config`; both that and a flat config are read.
///
/// Errors: an unsupported kind, with what to download instead; a field that is missing, of a wrong type or out of its
///         limits: `config.json: num_experts_per_tok is 17, expects 1 to 16 (num_experts)`; a field that asks for what
///         is not built.
llvm::Expected<ModelConfig> parseModelConfig(const JsonCursor &root);

/// An id or a list of ids, each below `vocabSize`; duplicates are dropped.
llvm::Expected<std::vector<uint32_t>> parseTokenIds(const JsonCursor &field, uint64_t vocabSize);

constexpr int64_t kMaxExperts = 4096; // of a layer

} // namespace moec
#endif
