// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of model families.
#include "lib/Import/ModelFamily.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace moec {

namespace {

constexpr auto kField = BiasRule::Field;
constexpr llvm::StringLiteral kOwnSize = "moe_intermediate_size";

// Columns: name, text part; size of an expert, shared expert, sparse step; hybrid, interleaved, fused experts; norms,
// biases, windows, norm_topk_prob; rms_norm_eps, head_dim, max_position_embeddings; needs KV heads, needs theta; end of
// text.
constexpr ModelFamily kFamilies[] = {
    {"qwen3_moe", "", kOwnSize, false, true, false, false, false, HeadNorm::Head, kField, WindowRule::All,
     RenormalizeRule::Required, 0, 0, 0, true, true, -1},
    {"qwen3", "", "", false, false, false, false, false, HeadNorm::Head, kField, WindowRule::FromLayer,
     RenormalizeRule::No, 1e-6, 128, 32768, true, false, -1},
    {"llama", "", "", false, false, false, false, false, HeadNorm::None, kField, WindowRule::None, RenormalizeRule::No,
     1e-6, 0, 2048, false, false, 2},
    {"qwen2", "", "", false, false, false, false, false, HeadNorm::None, BiasRule::Qkv, WindowRule::FromLayer,
     RenormalizeRule::No, 1e-6, 0, 32768, true, false, -1},
    {"qwen2_moe", "", kOwnSize, true, true, false, false, false, HeadNorm::None, BiasRule::QkvField,
     WindowRule::EveryOther, RenormalizeRule::No, 1e-6, 0, 32768, true, false, -1},
    {"olmoe", "", "intermediate_size", false, false, false, false, false, HeadNorm::Width, kField, WindowRule::None,
     RenormalizeRule::No, 1e-5, 0, 4096, false, false, 50279},
    {"qwen3_next", "", kOwnSize, true, true, true, true, false, HeadNorm::Head, BiasRule::Refused, WindowRule::None,
     RenormalizeRule::Yes, 1e-6, 256, 32768, true, false, -1},
    {"qwen3_5", "qwen3_5_text", "", false, false, true, false, false, HeadNorm::Head, BiasRule::Refused,
     WindowRule::None, RenormalizeRule::No, 1e-6, 256, 32768, true, false, -1},
    {"qwen3_5_moe", "qwen3_5_moe_text", kOwnSize, true, false, true, false, true, HeadNorm::Head, BiasRule::Refused,
     WindowRule::None, RenormalizeRule::Yes, 1e-6, 256, 32768, true, false, -1},
};

} // namespace

llvm::ArrayRef<ModelFamily> modelFamilies() { return kFamilies; }

const ModelFamily *findFamily(llvm::StringRef modelType) {
  const ModelFamily *found = llvm::find_if(kFamilies, [&](const ModelFamily &row) {
    return modelType == row.name || (!row.textName.empty() && modelType == row.textName);
  });
  return found == std::end(kFamilies) ? nullptr : found;
}

std::string familyNames() {
  return llvm::join(llvm::map_range(kFamilies, [](const ModelFamily &row) { return row.name; }), ", ");
}

} // namespace moec
