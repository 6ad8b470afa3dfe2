// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compiler knows of a target. Descriptions are data (lib/Target/socs/*.json); each has the name of its file.
/// Main source: docs/architecture.md ("Targets").
#ifndef LIB_TARGET_TARGETDESCRIPTION_H
#define LIB_TARGET_TARGETDESCRIPTION_H

#include "lib/Target/Isa.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec {

struct TargetDescription {
  /// The name of the description itself: aliases and `host` are resolved.
  std::string name;
  /// One line for people.
  std::string summary;
  /// For LLVM: "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu".
  std::string triple;
  /// Names the folder of the runtime archive: "aarch64-linux-gnu", "x86_64-linux-gnu".
  std::string runtimeTriple;
  /// LLVM processor. Generic tuning: tuning for a big core slows the little cores down.
  std::string cpu;
  /// LLVM features, "+dotprod,+fullfp16,-sve".
  std::string features;
  Isa isa = Isa::Avx2;
  /// MOERT_FEATURE_* that the runtime checks at open. Covers every enabled feature that is optional on the platform.
  uint32_t featuresRequired = 0;
  /// Largest page size of systems that load the `.so`; segments are aligned to it.
  uint32_t pageBytes = 4096;
  /// Where the facts come from.
  std::vector<std::string> sources;

  LayoutFamily layoutFamily() const { return familyOf(isa); }
};

/// "avx2", "avx512vnni", "dotprod", "i8mm".
llvm::StringRef nameOf(Isa isa);

/// The description called `name`; aliases and `host` are resolved. Errors: unknown, with all valid names.
llvm::Expected<TargetDescription> lookupTarget(llvm::StringRef name);

/// The best description for this machine. Errors: the processor lacks what every target needs.
llvm::Expected<TargetDescription> detectHost();

/// All valid names, sorted, `host` first.
std::vector<std::string> targetNames();

/// Reads one description; `file` stands in messages. An alias has only `alias_of` and is returned in `aliasOf`.
llvm::Expected<TargetDescription> parseTarget(llvm::StringRef text, llvm::StringRef file, std::string &aliasOf);

} // namespace moec

#endif
