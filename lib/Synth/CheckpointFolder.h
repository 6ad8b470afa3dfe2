// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes a random checkpoint as a folder that appears whole or not at all. Behind `moec synth`.
/// Main source: docs/synthetic-models.md.
#ifndef LIB_SYNTH_CHECKPOINTFOLDER_H
#define LIB_SYNTH_CHECKPOINTFOLDER_H

#include "lib/Synth/RandomCheckpoint.h"

#include <functional>

namespace moec {

/// A small file beside the weights.
struct TextFile {
  std::string name, content;
};

/// Writes weights, index and `texts` into a hidden folder beside `folder`, which then gets its name.
///
/// `progress` is told after each piece: bytes written and of all weights.
/// Memory: some MiB, and the header of one file.
/// Errors: `folder` exists and is not empty, its parent cannot be written, the file system has too little room or
///         becomes full; nothing is left then.
llvm::Error writeCheckpointFolder(const RandomCheckpoint &checkpoint, llvm::ArrayRef<TextFile> texts,
                                  llvm::StringRef folder,
                                  const std::function<void(uint64_t done, uint64_t total)> &progress = {});

} // namespace moec

#endif
