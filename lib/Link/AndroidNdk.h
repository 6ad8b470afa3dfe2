// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the libraries of an Android NDK. Step: link. Main source: docs/command-line.md ("--ndk").
#ifndef LIB_LINK_ANDROIDNDK_H
#define LIB_LINK_ANDROIDNDK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace moec {

/// The least Android that moec's outputs run on: Android 9.
inline constexpr unsigned kLeastAndroidApi = 28;

/// The folder of `libc.so` and `libdl.so` for the lowest API level of at least kLeastAndroidApi.
///
/// Errors: `ndk` is no NDK; it has no such libraries for `triple`; the message has the path and what was looked for.
/// Source: NDK's documentation, "Use the NDK with other build systems": toolchains/llvm/prebuilt/HOST/sysroot.
llvm::Expected<std::string> findNdkLibraries(llvm::StringRef ndk, llvm::StringRef triple);

} // namespace moec

#endif
