// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads one target description, strictly: every key is known, typed and in range, and every number of a machine has a
/// source. Main source: docs/how-to-add-target.md.
#include "lib/Target/TargetDescription.h"

#include "lib/Support/JsonCursor.h"
#include "moert/Generated.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <functional>

namespace moec {

namespace {

struct Named {
  const char *name;
  uint32_t value;
};

constexpr Named kIsas[] = {
    {"avx2", uint32_t(Isa::Avx2)}, {"avxvnni", uint32_t(Isa::AvxVnni)}, {"avx512vnni", uint32_t(Isa::Avx512Vnni)},
    {"neon", uint32_t(Isa::Neon)}, {"dotprod", uint32_t(Isa::Dotprod)}, {"i8mm", uint32_t(Isa::I8mm)}};

constexpr Named kPlatforms[] = {{"linux-gnu", uint32_t(Platform::LinuxGnu)}, {"android", uint32_t(Platform::Android)}};

constexpr Named kArchitectures[] = {{"aarch64", 0}, {"x86_64", 1}};

constexpr Named kBases[] = {{"cited", 0}, {"estimated", 1}};

constexpr Named kFeatures[] = {
    {"arm_dotprod", MOERT_FEATURE_ARM_DOTPROD},  {"arm_i8mm", MOERT_FEATURE_ARM_I8MM},
    {"arm_fp16", MOERT_FEATURE_ARM_FP16},        {"x86_avx2", MOERT_FEATURE_X86_AVX2},
    {"x86_fma", MOERT_FEATURE_X86_FMA},          {"x86_f16c", MOERT_FEATURE_X86_F16C},
    {"x86_avx512", MOERT_FEATURE_X86_AVX512},    {"x86_avx512_vnni", MOERT_FEATURE_X86_AVX512_VNNI},
    {"x86_avx_vnni", MOERT_FEATURE_X86_AVX_VNNI}};

llvm::StringRef nameIn(llvm::ArrayRef<Named> names, uint32_t value) {
  for (const Named &named : names)
    if (named.value == value)
      return named.name;
  return "?";
}

/// The value of the string at `cursor` in `names`.
llvm::Expected<uint32_t> oneOf(const JsonCursor &cursor, llvm::ArrayRef<Named> names) {
  llvm::Expected<std::string> text = cursor.string();
  if (!text)
    return text.takeError();
  std::vector<std::string> valid;
  for (const Named &named : names) {
    if (*text == named.name)
      return named.value;
    valid.push_back(named.name);
  }
  return cursor.wrong("one of " + llvm::join(valid, ", "));
}

using Handler = std::function<llvm::Error(const JsonCursor &)>;

struct Key {
  const char *name;
  bool isRequired;
  Handler read;
};

/// Reads an object that has all required keys and no others than those.
llvm::Error readObject(const JsonCursor &cursor, llvm::ArrayRef<Key> keys) {
  auto members = cursor.members();
  if (!members)
    return members.takeError();
  for (const auto &[name, member] : *members)
    if (llvm::none_of(keys, [&, &name = name](const Key &key) { return name == key.name; })) {
      std::vector<std::string> valid;
      for (const Key &key : keys)
        valid.push_back(key.name);
      return cursor.complain("has the unknown key '" + name + "', expects " + llvm::join(valid, ", "));
    }
  for (const Key &key : keys) {
    auto found = llvm::find_if(*members, [&](const auto &member) { return member.first == key.name; });
    if (found == members->end() && !key.isRequired)
      continue;
    if (llvm::Error error = found == members->end() ? cursor.at(key.name).takeError() : key.read(found->second))
      return error;
  }
  return llvm::Error::success();
}

Handler into(std::string &out) {
  return [&out](const JsonCursor &cursor) -> llvm::Error {
    if (llvm::Error error = cursor.string().moveInto(out))
      return error;
    return out.empty() ? cursor.wrong("a text") : llvm::Error::success();
  };
}

Handler into(std::vector<std::string> &out) {
  return [&out](const JsonCursor &cursor) -> llvm::Error {
    auto elements = cursor.elements();
    if (!elements)
      return elements.takeError();
    for (const JsonCursor &element : *elements)
      if (llvm::Error error = element.string().moveInto(out.emplace_back()))
        return error;
    return llvm::Error::success();
  };
}

template <typename T> Handler into(T &out, int64_t least, int64_t most) {
  return [&out, least, most](const JsonCursor &cursor) -> llvm::Error {
    auto number = cursor.integer(least, most);
    if (!number)
      return number.takeError();
    out = static_cast<uint32_t>(*number);
    return llvm::Error::success();
  };
}

template <typename T> Handler into(T &out, llvm::ArrayRef<Named> names) {
  return [&out, names](const JsonCursor &cursor) -> llvm::Error {
    auto value = oneOf(cursor, names);
    if (!value)
      return value.takeError();
    out = static_cast<T>(*value);
    return llvm::Error::success();
  };
}

/// {"value": N, "basis": "cited" or "estimated", "source": "..."}.
Handler into(std::optional<MachineNumber> &out, int64_t least, int64_t most) {
  return [&out, least, most](const JsonCursor &cursor) -> llvm::Error {
    MachineNumber &number = out.emplace();
    auto value = [&](const JsonCursor &at) -> llvm::Error {
      auto read = at.integer(least, most);
      if (!read)
        return read.takeError();
      number.value = static_cast<uint64_t>(*read);
      return llvm::Error::success();
    };
    return readObject(cursor, {{"value", true, value},
                               {"basis", true, into(number.isEstimated, kBases)},
                               {"source", true, into(number.source)}});
  };
}

/// {"clusters": [{"count", "core", "max_mhz"}], "source": "..."}.
llvm::Error readCores(const JsonCursor &cursor, MachineFacts &machine) {
  auto clusters = [&](const JsonCursor &list) -> llvm::Error {
    auto elements = list.elements();
    if (!elements)
      return elements.takeError();
    if (elements->empty())
      return list.wrong("at least one cluster");
    for (const JsonCursor &element : *elements) {
      CoreCluster &cluster = machine.clusters.emplace_back();
      if (llvm::Error error = readObject(element, {{"count", true, into(cluster.count, 1, 64)},
                                                   {"core", true, into(cluster.core)},
                                                   {"max_mhz", false, into(cluster.maxMHz, 100, 10000)}}))
        return error;
    }
    return llvm::Error::success();
  };
  return readObject(cursor, {{"clusters", true, clusters}, {"source", true, into(machine.clustersSource)}});
}

llvm::Error readMachine(const JsonCursor &cursor, MachineFacts &machine) {
  // Between a microcontroller and a server: a slip of a factor of 1000 falls outside.
  constexpr int64_t kLeastCache = 64 << 10, kMostCache = 1 << 30;
  constexpr int64_t kLeastDram = 1'000'000'000, kMostDram = 2'000'000'000'000;
  constexpr int64_t kLeastFlash = 10'000'000, kMostFlash = 50'000'000'000;
  auto cores = [&](const JsonCursor &at) { return readCores(at, machine); };
  return readObject(
      cursor,
      {{"cores", true, cores},
       {"last_level_cache_bytes", false, into(machine.lastLevelCacheBytes, kLeastCache, kMostCache)},
       {"system_cache_bytes", false, into(machine.systemCacheBytes, kLeastCache, kMostCache)},
       {"dram_peak_bytes_per_second", false, into(machine.dramPeakBytesPerSecond, kLeastDram, kMostDram)},
       {"dram_sustained_bytes_per_second", false, into(machine.dramSustainedBytesPerSecond, kLeastDram, kMostDram)},
       {"flash_peak_bytes_per_second", false, into(machine.flashPeakBytesPerSecond, kLeastFlash, kMostFlash)},
       {"flash_sustained_bytes_per_second", false,
        into(machine.flashSustainedBytesPerSecond, kLeastFlash, kMostFlash)}});
}

std::optional<uint64_t> best(const std::optional<MachineNumber> &sustained, const std::optional<MachineNumber> &peak) {
  const std::optional<MachineNumber> &number = sustained ? sustained : peak;
  return number ? std::optional(number->value) : std::nullopt;
}

} // namespace

llvm::StringRef nameOf(Isa isa) { return nameIn(kIsas, static_cast<uint32_t>(isa)); }

llvm::StringRef nameOf(Platform platform) { return nameIn(kPlatforms, static_cast<uint32_t>(platform)); }

unsigned MachineFacts::numCores() const {
  unsigned sum = 0;
  for (const CoreCluster &cluster : clusters)
    sum += cluster.count;
  return sum;
}

llvm::Expected<ParsedTarget> parseTarget(llvm::StringRef text, llvm::StringRef file) {
  llvm::Expected<Json> json = parseJson(text, file);
  if (!json)
    return json.takeError();
  JsonCursor root(file, *json);
  ParsedTarget parsed;
  TargetDescription &target = parsed.target;
  std::vector<std::string> features, required;
  uint32_t architecture = 0;
  auto machine = [&](const JsonCursor &at) { return readMachine(at, target.machine); };
  auto bits = [&](const JsonCursor &list) -> llvm::Error {
    auto elements = list.elements();
    if (!elements)
      return elements.takeError();
    for (const JsonCursor &element : *elements) {
      auto bit = oneOf(element, kFeatures);
      if (!bit)
        return bit.takeError();
      target.featuresRequired |= *bit;
    }
    return llvm::Error::success();
  };
  std::vector<Key> keys = {{"name", true, into(target.name)},
                           {"summary", true, into(target.summary)},
                           {"sources", true, into(target.sources)},
                           {"platform", false, into(target.platform, kPlatforms)},
                           {"machine", false, machine}};
  parsed.hasPlatform = root.find("platform").has_value();
  const bool isAlias = root.find("alias_of").has_value();
  if (isAlias)
    keys.push_back({"alias_of", true, into(parsed.aliasOf)});
  else
    keys.insert(keys.end(), {{"architecture", true, into(architecture, kArchitectures)},
                             {"cpu", true, into(target.cpu)},
                             {"llvm_features", true, into(features)},
                             {"isa", true, into(target.isa, kIsas)},
                             {"features_required", true, bits},
                             {"page_bytes", true, into(target.pageBytes, 4096, 65536)}});
  if (llvm::Error error = readObject(root, keys))
    return std::move(error);
  if (target.name + ".json" != file)
    return root.complain("has the name '" + target.name + "', expects that of the file");
  if (target.pageBytes & (target.pageBytes - 1))
    return root.at("page_bytes")->wrong("a power of two");
  if (!isAlias)
    parsed.architecture = kArchitectures[architecture].name;
  target.features = llvm::join(features, ",");
  const MachineFacts &facts = target.machine;
  target.dramBytesPerSecond = best(facts.dramSustainedBytesPerSecond, facts.dramPeakBytesPerSecond);
  target.flashBytesPerSecond = best(facts.flashSustainedBytesPerSecond, facts.flashPeakBytesPerSecond);
  return parsed;
}

} // namespace moec
