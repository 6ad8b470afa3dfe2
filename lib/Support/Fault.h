// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the libraries make errors: one line of text, lower case, that says what was expected and what was found.
#ifndef LIB_SUPPORT_FAULT_H
#define LIB_SUPPORT_FAULT_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace moec {

/// An error whose message is `text`.
inline llvm::Error fault(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

/// An error of a system call: `text`, then what `errorNumber` (errno) means.
llvm::Error systemFault(const llvm::Twine &text, int errorNumber);

} // namespace moec
#endif
