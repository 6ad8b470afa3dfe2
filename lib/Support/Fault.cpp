// SPDX-License-Identifier: Apache-2.0
/// \file
/// Errors of system calls.
#include "lib/Support/Fault.h"

#include <system_error>

namespace moec {

llvm::Error systemFault(const llvm::Twine &text, int errorNumber) {
  return fault(text + ": " + std::generic_category().message(errorNumber));
}

} // namespace moec
