// SPDX-License-Identifier: Apache-2.0
/// \file
/// The folder OUT.run of an Android build: what a computer with adb needs to run the model on a phone. Step: link. Main
/// source: docs/first-run-on-your-phone.md.
#ifndef LIB_COMPILER_RUNFOLDER_H
#define LIB_COMPILER_RUNFOLDER_H

#include "lib/Support/Files.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace moec {

struct RunFolderInputs {
  std::string prefix;        ///< of OUT.run
  std::string sharedObject;  ///< where the linked `.so` lies now
  std::string packPath;      ///< its final place; the folder names it, it holds no second copy
  std::string deviceFolder;  ///< ../lib/moert/TRIPLE of moec: archive of moe-run, script, text
  std::string libraryFolder; ///< what moe-run is linked against
};

/// Adds the files of OUT.run to `outputs`; makes the folder. Errors: the folder cannot be made; linking failed.
llvm::Error writeRunFolder(const RunFolderInputs &inputs, OutputTransaction &outputs);

/// PREFIX.run. Whoever makes it removes it again if nothing came to lie in it.
std::string runFolderOf(llvm::StringRef prefix);

} // namespace moec

#endif
