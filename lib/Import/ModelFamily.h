// SPDX-License-Identifier: Apache-2.0
/// \file
/// The model families that are read, one row each: what their configs leave unsaid. Part of the import step. Main
/// source: transformers' `models/<model_type>/configuration_*.py` and `modeling_*.py`.
#ifndef LIB_IMPORT_MODELFAMILY_H
#define LIB_IMPORT_MODELFAMILY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace moec {

/// Normalization of queries and keys before they are rotated: of each head, or of all heads as one vector.
enum class HeadNorm : uint8_t { None, Head, Width };

/// Which products of attention have a bias.
enum class BiasRule : uint8_t {
  Refused, ///< none; attention_bias true is refused
  Field,   ///< q, k, v and o where attention_bias is true
  Qkv,     ///< q, k and v
  QkvField ///< q, k and v unless qkv_bias is false
};

/// Which layers a sliding window holds for, where use_sliding_window is true.
enum class WindowRule : uint8_t {
  None,       ///< the family has no windows
  All,        ///< all layers
  FromLayer,  ///< those from max_window_layers on
  EveryOther, ///< every second one below max_window_layers
};

/// What norm_topk_prob is where it is missing.
enum class RenormalizeRule : uint8_t { Required, No, Yes };

struct ModelFamily {
  llvm::StringLiteral name;          ///< model_type
  llvm::StringLiteral textName;      ///< model_type of the text part of a model that also sees; empty: there is none
  llvm::StringLiteral expertSizeKey; ///< the field with the size of an expert; empty: there are no experts
  bool hasSharedExpert;
  bool hasSparseStep; ///< decoder_sparse_step and mlp_only_layers choose layers without experts
  /// Layers of Gated DeltaNet between those of attention. With them come zero-centred norms, norms of heads, an output
  /// gate of attention, and the rotation of a part of each head.
  bool isHybrid;
  bool isInterleaved;  ///< in_proj_qkvz and in_proj_ba by key head, instead of in_proj_qkv, _z, _b and _a
  bool isFusedExperts; ///< how the experts are commonly stored; both forms are read
  HeadNorm headNorm;
  BiasRule bias;
  WindowRule window;
  RenormalizeRule renormalize;
  // Values of fields that may be missing; 0: the field is required, or for head_dim hidden_size / num_attention_heads.
  double rmsNormEps;
  uint64_t headDim, maxPositions;
  bool needsKvHeads; ///< else num_key_value_heads may be missing: as many as query heads
  bool needsTheta;   ///< else rope_theta may be missing: 10000
  int64_t eosId;     ///< of a config without eos_token_id; -1: none

  bool hasExperts() const { return !expertSizeKey.empty(); }
};

llvm::ArrayRef<ModelFamily> modelFamilies();
/// The row whose `name` or `textName` this is, or null.
const ModelFamily *findFamily(llvm::StringRef modelType);
/// "qwen3_moe, qwen3, …": for messages.
std::string familyNames();

} // namespace moec
#endif
