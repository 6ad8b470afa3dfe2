// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kinds of checkpoints.
#include "lib/Import/CheckpointFolder.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace moec {

namespace {

constexpr llvm::StringLiteral kInstead =
    "download the bf16 safetensors checkpoint of the model (a folder with config.json, tokenizer.json and "
    "model.safetensors or its shards), or a gguf file";

Error refuseFile(StringRef path) { return fault("'" + path + "' is a file, expects a folder; " + kInstead); }

bool isUnfinished(StringRef name) {
  return name.ends_with(".incomplete") || name.ends_with(".part") || name.ends_with(".partial") ||
         name.ends_with(".crdownload") || name.ends_with(".aria2");
}

/// The first name for which `test` holds, or nothing.
template <typename Test> StringRef firstOf(llvm::ArrayRef<std::string> names, Test test) {
  auto at = llvm::find_if(names, test);
  return at == names.end() ? StringRef() : StringRef(*at);
}

} // namespace

Expected<std::vector<std::string>> listCheckpointFolder(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return fault("model '" + path + "' cannot be opened: " + code.message() + "; expects a checkpoint folder");
  if (status.type() != llvm::sys::fs::file_type::directory_file)
    return refuseFile(path);
  std::vector<std::string> names;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code))
    names.push_back(llvm::sys::path::filename(at->path()).str());
  if (code)
    return fault("cannot list the folder '" + path + "': " + code.message());
  llvm::sort(names);
  if (StringRef name = firstOf(names, isUnfinished); !name.empty())
    return fault("'" + path + "' is an incomplete download: '" + name + "' has not ended; finish the download, or " +
                 "remove that file if it does not belong to the model");
  if (!llvm::is_contained(names, "config.json")) {
    if (StringRef name = firstOf(names, [](StringRef n) { return n.ends_with_insensitive(".gguf"); }); !name.empty())
      return refuseWithoutSafetensors(path, names);
    return fault("'" + path + "' has no config.json; " + kInstead);
  }
  return std::move(names);
}

Error refuseWithoutSafetensors(StringRef path, llvm::ArrayRef<std::string> names) {
  struct Kind {
    llvm::StringLiteral what;
    bool (*test)(StringRef name);
  };
  constexpr Kind kKinds[] = {
      {"give the gguf file itself", [](StringRef n) { return n.ends_with_insensitive(".gguf"); }},
      {"original consolidated weights are not supported", [](StringRef n) { return n.starts_with("consolidated."); }},
      {"PyTorch pickle files are not read",
       [](StringRef n) { return n.ends_with(".bin") || n.ends_with(".pth") || n.ends_with(".pt"); }},
      {"ONNX files are not supported", [](StringRef n) { return n.ends_with(".onnx"); }}};
  if (StringRef name = firstOf(names, [](StringRef n) { return n.ends_with(".safetensors") && n.contains("-of-"); });
      !name.empty())
    return fault("'" + path + "' has '" + name + "' but no model.safetensors.index.json; the download is incomplete, " +
                 "download the missing file");
  for (const Kind &kind : kKinds)
    if (StringRef name = firstOf(names, kind.test); !name.empty())
      return fault("'" + path + "' has '" + name + "' and no model.safetensors; " + kind.what + "; " + kInstead);
  return fault("'" + path + "' has no weights, expects model.safetensors or model.safetensors.index.json; " + kInstead);
}

} // namespace moec
