// SPDX-License-Identifier: Apache-2.0
/// \file
/// A gguf file in the words of a checkpoint folder: its metadata as config.json and generation_config.json, its tensors
/// by the names of Hugging Face. Part of the import step. Main source: docs/gguf.md ("Names"), llama.cpp's converter.
#ifndef LIB_IMPORT_GGUFMODEL_H
#define LIB_IMPORT_GGUFMODEL_H

#include "lib/Import/Gguf.h"
#include "lib/Import/TensorTable.h"

namespace moec {

struct GgufModel {
  Json config, generation;
  std::vector<CheckpointTensor> tensors; // of file 0, in the order of the file
  std::vector<std::string> warnings;
  /// What messages about the configs call a field, and what the file calls it.
  std::vector<std::pair<std::string, std::string>> keys;
};

/// Translates; values are only checked where their meaning depends on it, the rest is for parseModelConfig and
/// checkTensors. `name` stands in messages.
///
/// Errors: an architecture that is not read; one file of several; a key that must be there; a variant of the
///         architecture that is not built; a tensor that the architecture does not have.
llvm::Expected<GgufModel> translateGguf(const GgufFile &file, llvm::StringRef name);

/// An error of what the file `name` was translated to, with the file's name and the keys that the file has.
llvm::Error inGgufTerms(llvm::Error error, llvm::StringRef name,
                        llvm::ArrayRef<std::pair<std::string, std::string>> keys);

/// Whether `path` is an existing file, not a folder, that is called .gguf or begins as one.
bool isGgufFile(llvm::StringRef path);

} // namespace moec
#endif
