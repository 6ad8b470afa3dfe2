// SPDX-License-Identifier: Apache-2.0
/// \file
/// Links the shared object of a model in process with lld: generated objects, the runtime archive and stub libraries,
/// no sysroot; for Android also the program that runs it. Step: link. Main source: docs/architecture.md ("Platforms").
#ifndef LIB_LINK_SHAREDOBJECT_H
#define LIB_LINK_SHAREDOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace moec {

struct SharedObjectInputs {
  llvm::ArrayRef<std::string> objects; ///< object files
  std::string runtimeArchive;          ///< libmoert.a of the target
  std::string libraryFolder;           ///< shared libraries for --no-undefined: stubs without versions, or an NDK's
  std::string soname;
};

/// Writes `output`, which must not exist or may be replaced. Only `moert_get_api` and `moert_model_v1` are exported.
/// Errors carry lld's messages. Not re-entrant: lld keeps state while it runs.
llvm::Error linkSharedObject(const SharedObjectInputs &inputs, const std::string &output);

struct ProgramInputs {
  std::string archive;       ///< defines `_start`
  std::string libraryFolder; ///< as above
};

/// Writes `output`, a position-independent program for Android's dynamic linker. Errors as above.
llvm::Error linkAndroidProgram(const ProgramInputs &inputs, const std::string &output);

/// Bytes that the loader maps for a shared object: the sum of its PT_LOAD segments, each rounded to pages.
llvm::Expected<uint64_t> mappedBytes(llvm::StringRef file);

} // namespace moec

#endif
