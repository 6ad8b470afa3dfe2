// SPDX-License-Identifier: Apache-2.0
/// \file
/// What kind of checkpoint a path holds, and clear words for the kinds that are not read. Part of the import step.
#ifndef LIB_IMPORT_CHECKPOINTFOLDER_H
#define LIB_IMPORT_CHECKPOINTFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace moec {

/// Lists the names in a checkpoint folder, sorted.
///
/// Errors: the path does not exist, is a file, is no folder, has no config.json, or holds a download
///         that has not ended; the message says what to download instead.
llvm::Expected<std::vector<std::string>> listCheckpointFolder(llvm::StringRef path);

/// The error for a folder with neither model.safetensors nor an index: names what it holds instead.
llvm::Error refuseWithoutSafetensors(llvm::StringRef path, llvm::ArrayRef<std::string> names);

} // namespace moec
#endif
