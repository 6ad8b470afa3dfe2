// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds descriptions among the embedded ones, resolves aliases, platforms and the host.
#include "lib/Target/TargetDescription.h"

#include "lib/Support/Fault.h"
#include "lib/Target/EmbeddedSocs.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

namespace moec {

static const EmbeddedText *findEmbedded(llvm::StringRef name) {
  for (const EmbeddedText &soc : llvm::ArrayRef(kEmbeddedSocs, kNumEmbeddedSocs))
    if (name == soc.name)
      return &soc;
  return nullptr;
}

/// The description called `name` with code generation keys, but without triples. Without facts of its own, an alias is
/// just another name.
static llvm::Expected<ParsedTarget> readEmbedded(llvm::StringRef name) {
  const EmbeddedText *soc = findEmbedded(name);
  if (!soc)
    return fault("unknown target '" + name + "', expected one of " + llvm::join(targetNames(), ", "));
  auto own = parseTarget(soc->text, (name + ".json").str());
  if (!own || own->aliasOf.empty())
    return own;
  const EmbeddedText *other = findEmbedded(own->aliasOf);
  if (!other)
    return fault(name + ".json: alias_of is '" + own->aliasOf + "', expects one of " + llvm::join(targetNames(), ", "));
  auto base = parseTarget(other->text, own->aliasOf + ".json");
  if (!base)
    return base;
  if (!base->aliasOf.empty())
    return fault(name + ".json: alias_of is '" + own->aliasOf + "', an alias itself; expects a description with code " +
                 "generation keys");
  if (own->target.machine.clusters.empty())
    return base;
  TargetDescription &target = own->target;
  own->architecture = base->architecture;
  target.cpu = base->target.cpu;
  target.features = base->target.features;
  target.isa = base->target.isa;
  target.featuresRequired = base->target.featuresRequired;
  target.pageBytes = base->target.pageBytes;
  target.sources.insert(target.sources.end(), base->target.sources.begin(), base->target.sources.end());
  if (!own->hasPlatform)
    target.platform = base->target.platform;
  return own;
}

std::vector<std::string> targetNames() {
  std::vector<std::string> names = {"host"};
  for (const EmbeddedText &soc : llvm::ArrayRef(kEmbeddedSocs, kNumEmbeddedSocs))
    names.push_back(soc.name);
  std::sort(names.begin() + 1, names.end());
  return names;
}

llvm::Expected<TargetDescription> lookupTarget(llvm::StringRef text) {
  auto [name, platform] = text.split('@');
  const bool hasPlatform = text.contains('@');
  if (name == "host")
    return hasPlatform ? fault("target 'host' takes no platform, but got '" + platform + "'") : detectHost();
  auto parsed = readEmbedded(name);
  if (!parsed)
    return parsed.takeError();
  TargetDescription &target = parsed->target;
  if (hasPlatform) {
    const Platform usual = target.platform;
    llvm::SmallVector<Platform, 2> platforms{Platform::LinuxGnu};
    if (parsed->architecture == "aarch64")
      platforms.push_back(Platform::Android);
    const auto *chosen =
        llvm::find_if(platforms, [&, &platform = platform](Platform p) { return nameOf(p) == platform; });
    if (chosen == platforms.end())
      return fault("target '" + name + "' has no platform '" + platform + "', expected " +
                   llvm::join(llvm::map_range(platforms, [](Platform p) { return nameOf(p); }), " or "));
    target.platform = *chosen;
    if (*chosen != usual)
      target.name += ("@" + platform).str();
  }
  llvm::StringRef system = target.platform == Platform::Android ? "linux-android" : "linux-gnu";
  target.triple = (parsed->architecture + "-unknown-" + system).str();
  target.runtimeTriple = (parsed->architecture + "-" + system).str();
  return target;
}

llvm::Expected<TargetDescription> detectHost() {
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return found.lookup(name); });
  };
#if defined(__aarch64__)
  if (hasAll({"dotprod", "i8mm", "fullfp16"}))
    return lookupTarget("arm64-i8mm");
  if (hasAll({"dotprod", "fullfp16"}))
    return lookupTarget("arm64-dotprod");
  return lookupTarget("arm64-neon");
#else
  bool isAvx2 = hasAll({"avx2", "fma", "f16c"});
  if (isAvx2 && hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"}))
    return lookupTarget("x86-64-avx512vnni");
  if (isAvx2 && hasAll({"avxvnni"}))
    return lookupTarget("x86-64-avxvnni");
  if (isAvx2)
    return lookupTarget("x86-64-avx2");
  return fault("target 'host' needs a processor with avx2, fma and f16c, found '" + llvm::sys::getHostCPUName() +
               "'; name another target and run its output elsewhere");
#endif
}

} // namespace moec
