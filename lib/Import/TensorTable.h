// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which tensors a checkpoint has, and the check that it has them. Part of the import step. Main source: transformers'
/// `models/<model_type>/modeling_*.py`.
#ifndef LIB_IMPORT_TENSORTABLE_H
#define LIB_IMPORT_TENSORTABLE_H

#include "lib/Import/ModelConfig.h"
#include "lib/Import/TensorType.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace moec {

/// One tensor of a checkpoint: where its elements stand. Row-major, little-endian.
struct CheckpointTensor {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;
  uint32_t fileIndex; // into Checkpoint::files()
  uint64_t offsetBytes;
  uint64_t sizeBytes;
  /// Not 0: in each head of so many rows, row i of the model stands at 2i and row i + half at 2i + 1.
  uint64_t pairedRows = 0;
};

/// How the tensors of a list sorted by name are spelled; what they do not show is as in the config.
TensorSpelling spellingOf(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted);

/// "model.embed_tokens.weight", spelled as in the config.
std::string embeddingName(const ModelConfig &config);

/// Calls `visit` for every tensor that the model needs, spelled as in the config, in the order of computation; stops at
/// the first error.
llvm::Error forEachExpectedTensor(const ModelConfig &config,
                                  llvm::function_ref<llvm::Error(llvm::StringRef, llvm::ArrayRef<uint64_t>)> visit);

/// The tensor `name` of a list sorted by name, or null.
const CheckpointTensor *findTensor(llvm::ArrayRef<CheckpointTensor> sorted, llvm::StringRef name);

/// Checks a list sorted by name against the config. Tensors of parts that are known and not read (vision, multi-token
/// prediction, tables of rotation) become one text of `notes`. Others that the model does not have and that change
/// nothing in what it has (those of further layers, say) become one text of `warnings`.
///
/// Errors: an embedding or head of another vocabulary; a tensor that is missing, or has another shape or a type other
///         than F32, F16 or BF16; one that belongs to a module of the model and is not expected there (a bias, a
///         scale); each by name, with what was found and expected.
llvm::Error checkTensors(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted,
                         std::vector<std::string> &warnings, std::vector<std::string> &notes);

} // namespace moec
#endif
