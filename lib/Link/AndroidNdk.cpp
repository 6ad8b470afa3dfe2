// SPDX-License-Identifier: Apache-2.0
/// \file
/// Looks at the folders of an NDK; nothing in it is run.
#include "lib/Link/AndroidNdk.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <vector>

using namespace llvm;

namespace moec {

namespace {

Error ndkError(const Twine &text) { return createStringError(std::make_error_code(std::errc::invalid_argument), text); }

/// The names in a folder, sorted; empty if there is no such folder.
std::vector<std::string> namesIn(const Twine &folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
    names.push_back(sys::path::filename(it->path()).str());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

Expected<std::string> findNdkLibraries(StringRef ndk, StringRef triple) {
  if (!sys::fs::is_directory(ndk))
    return ndkError("'" + ndk + "' is no folder");
  std::string hosts = (ndk + "/toolchains/llvm/prebuilt").str();
  std::vector<std::string> hostNames = namesIn(hosts);
  if (!sys::fs::exists(ndk + "/source.properties") || hostNames.empty())
    return ndkError("'" + ndk + "' is no Android NDK: expected source.properties and toolchains/llvm/prebuilt in it");
  std::string libraries = hosts + "/" + hostNames.front() + "/sysroot/usr/lib/" + triple.str();
  unsigned best = 0, highest = 0;
  for (const std::string &name : namesIn(libraries)) {
    unsigned level = 0;
    if (!to_integer(name, level, 10))
      continue;
    highest = std::max(highest, level);
    bool isComplete =
        sys::fs::exists(libraries + "/" + name + "/libc.so") && sys::fs::exists(libraries + "/" + name + "/libdl.so");
    if (isComplete && level >= kLeastAndroidApi && (best == 0 || level < best))
      best = level;
  }
  if (best == 0)
    return ndkError("the NDK '" + ndk + "' has no libc.so and libdl.so of API level " + Twine(kLeastAndroidApi) +
                    " or later: looked in '" + libraries + "', where the highest level is " +
                    (highest ? Twine(highest) : Twine("missing")) + "; install a newer NDK");
  return libraries + "/" + std::to_string(best);
}

} // namespace moec
