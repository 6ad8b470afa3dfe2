// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the compiler knows of a target. Descriptions are data (lib/Target/socs/*.json); each has the name of its file.
/// Main source: docs/how-to-add-target.md.
#ifndef LIB_TARGET_TARGETDESCRIPTION_H
#define LIB_TARGET_TARGETDESCRIPTION_H

#include "lib/Target/Isa.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// The C library and loader that the `.so` is for. Chosen apart from the processor: `NAME@android`.
enum class Platform { LinuxGnu, Android };

/// A number of a machine and where it comes from.
struct MachineNumber {
  uint64_t value = 0;
  /// Derived by the reasoning in `source`; otherwise `source` states the number.
  bool isEstimated = false;
  std::string source;
};

/// Cores of one kind.
struct CoreCluster {
  uint32_t count = 0;
  /// "Cortex-X4".
  std::string core;
  /// Highest clock; absent where it is not published.
  std::optional<uint32_t> maxMHz;
};

/// Facts of one SoC, for estimates only: they never change code. Absent means unknown.
struct MachineFacts {
  /// Fastest first; empty where the description is no SoC.
  std::vector<CoreCluster> clusters;
  std::string clustersSource;
  /// Largest cache of the cores of one cluster.
  std::optional<MachineNumber> lastLevelCacheBytes;
  /// Cache that the CPU shares with the other units of the SoC.
  std::optional<MachineNumber> systemCacheBytes;
  /// Width of the memory times its rate.
  std::optional<MachineNumber> dramPeakBytesPerSecond;
  /// What the cores read in a long run.
  std::optional<MachineNumber> dramSustainedBytesPerSecond;
  /// Sequential reads by the maker of the flash memory.
  std::optional<MachineNumber> flashPeakBytesPerSecond;
  /// Sequential reads on a phone.
  std::optional<MachineNumber> flashSustainedBytesPerSecond;

  unsigned numCores() const;
};

struct TargetDescription {
  /// Finds this description again: `host` and names without facts of their own are resolved, and the platform stands
  /// behind it where it is not the default: "arm64-i8mm@android".
  std::string name;
  /// One line for people.
  std::string summary;
  Platform platform = Platform::LinuxGnu;
  /// For LLVM: "aarch64-unknown-linux-gnu", "aarch64-unknown-linux-android", "x86_64-unknown-linux-gnu".
  std::string triple;
  /// Names the folder of the runtime archive: "aarch64-linux-gnu", "aarch64-linux-android", "x86_64-linux-gnu".
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
  MachineFacts machine;
  /// For estimates: sustained where that is known, else the peak. Absent for `host` and for instruction levels.
  std::optional<uint64_t> dramBytesPerSecond;
  std::optional<uint64_t> flashBytesPerSecond;

  LayoutFamily layoutFamily() const { return familyOf(isa); }
};

/// "neon", "dotprod", "i8mm", "avx2", "avxvnni", "avx512vnni".
llvm::StringRef nameOf(Isa isa);
/// "linux-gnu", "android".
llvm::StringRef nameOf(Platform platform);

/// The description called `name`, which is NAME or NAME@PLATFORM; aliases and `host` are resolved. Errors: unknown,
/// with all valid names; a platform that the architecture does not have.
llvm::Expected<TargetDescription> lookupTarget(llvm::StringRef name);

/// The best description for this machine. Errors: the processor lacks what every target needs.
llvm::Expected<TargetDescription> detectHost();

/// All valid names, sorted, `host` first.
std::vector<std::string> targetNames();

/// A description as it was read.
struct ParsedTarget {
  /// Without name suffix and triples.
  TargetDescription target;
  /// "aarch64" or "x86_64"; empty in an alias.
  std::string architecture;
  /// The description that gives the code generation keys, or empty.
  std::string aliasOf;
  /// The description states its platform.
  bool hasPlatform = false;
};

/// Reads one description; `file` stands in messages. Errors: keys that are unknown, missing or belong to the other kind
/// of description; wrong types; numbers out of range.
llvm::Expected<ParsedTarget> parseTarget(llvm::StringRef text, llvm::StringRef file);

} // namespace moec

#endif
