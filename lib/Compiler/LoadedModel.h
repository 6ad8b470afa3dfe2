// SPDX-License-Identifier: Apache-2.0
/// \file
/// A compiled model of this machine, loaded through its C API. Part of `moec evaluate`. Main source: docs/c-api.md.
#ifndef LIB_COMPILER_LOADEDMODEL_H
#define LIB_COMPILER_LOADEDMODEL_H

#include "include/moert/moert.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace moec {

/// Owns library, model and one session. The library stays mapped.
class LoadedModel {
public:
  /// `pack` empty: the library's path with .moepack in place of .so.
  /// `expertsUsed` 0: as many for each token as the model has.
  static llvm::Expected<LoadedModel> open(const std::string &library, std::string pack, uint32_t threads,
                                          uint32_t expertsUsed = 0);
  LoadedModel(LoadedModel &&other) noexcept;
  LoadedModel &operator=(LoadedModel &&) = delete;
  ~LoadedModel();

  uint32_t vocabSize() const { return info.vocab_size; }
  uint32_t expertsPerToken() const { return info.top_k; }
  uint32_t expertsUsed() const { return info.experts_used; }
  uint32_t context() const { return info.context; }
  /// With the beginning-of-text token where the tokenizer adds one, as a prompt has it.
  llvm::Expected<std::vector<int32_t>> tokenize(llvm::StringRef text) const;
  /// Feeds `ids` to an empty session; `onLogits` sees the logits of each.
  llvm::Error run(llvm::ArrayRef<int32_t> ids, std::function<void(uint64_t, llvm::ArrayRef<float>)> onLogits);

private:
  LoadedModel() = default;
  std::string path;
  const moert_api *api = nullptr;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_model_info info{};
};

} // namespace moec

#endif
