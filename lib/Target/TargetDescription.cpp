// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads the embedded descriptions, resolves aliases and the host.
#include "lib/Target/TargetDescription.h"

#include "lib/Support/Fault.h"
#include "lib/Support/JsonCursor.h"
#include "lib/Target/EmbeddedSocs.h"
#include "moert/Generated.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

namespace moec {

namespace {

struct Named {
  const char *name;
  uint32_t value;
};

constexpr Named kIsas[] = {{"avx2", uint32_t(Isa::Avx2)},
                           {"avx512vnni", uint32_t(Isa::Avx512Vnni)},
                           {"dotprod", uint32_t(Isa::Dotprod)},
                           {"i8mm", uint32_t(Isa::I8mm)}};

constexpr Named kFeatures[] = {
    {"arm_dotprod", MOERT_FEATURE_ARM_DOTPROD}, {"arm_i8mm", MOERT_FEATURE_ARM_I8MM},
    {"arm_fp16", MOERT_FEATURE_ARM_FP16},       {"x86_avx2", MOERT_FEATURE_X86_AVX2},
    {"x86_fma", MOERT_FEATURE_X86_FMA},         {"x86_f16c", MOERT_FEATURE_X86_F16C},
    {"x86_avx512", MOERT_FEATURE_X86_AVX512},   {"x86_avx512_vnni", MOERT_FEATURE_X86_AVX512_VNNI}};

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

llvm::Error readString(const JsonCursor &root, llvm::StringRef key, std::string &out) {
  llvm::Expected<JsonCursor> cursor = root.at(key);
  if (!cursor)
    return cursor.takeError();
  return cursor->string().moveInto(out);
}

llvm::Error readStrings(const JsonCursor &root, llvm::StringRef key, std::vector<std::string> &out) {
  llvm::Expected<JsonCursor> cursor = root.at(key);
  if (!cursor)
    return cursor.takeError();
  llvm::Expected<std::vector<JsonCursor>> elements = cursor->elements();
  if (!elements)
    return elements.takeError();
  for (const JsonCursor &element : *elements)
    if (llvm::Error error = element.string().moveInto(out.emplace_back()))
      return error;
  return llvm::Error::success();
}

llvm::Error readNumbers(const JsonCursor &root, TargetDescription &target) {
  llvm::Expected<JsonCursor> isa = root.at("isa"), page = root.at("page_bytes");
  llvm::Expected<JsonCursor> required = root.at("features_required");
  if (llvm::Error error = llvm::joinErrors(isa.takeError(), llvm::joinErrors(page.takeError(), required.takeError())))
    return error;
  llvm::Expected<uint32_t> isaValue = oneOf(*isa, kIsas);
  if (!isaValue)
    return isaValue.takeError();
  target.isa = static_cast<Isa>(*isaValue);
  llvm::Expected<int64_t> pageBytes = page->integer(4096, 65536);
  if (!pageBytes)
    return pageBytes.takeError();
  target.pageBytes = static_cast<uint32_t>(*pageBytes);
  llvm::Expected<std::vector<JsonCursor>> features = required->elements();
  if (!features)
    return features.takeError();
  for (const JsonCursor &feature : *features) {
    llvm::Expected<uint32_t> bit = oneOf(feature, kFeatures);
    if (!bit)
      return bit.takeError();
    target.featuresRequired |= *bit;
  }
  return llvm::Error::success();
}

/// Everything that an alias takes from the description it names.
llvm::Error readMachine(const JsonCursor &root, TargetDescription &target) {
  std::vector<std::string> features;
  if (llvm::Error error = readString(root, "triple", target.triple))
    return error;
  if (llvm::Error error = readString(root, "runtime_triple", target.runtimeTriple))
    return error;
  if (llvm::Error error = readString(root, "cpu", target.cpu))
    return error;
  if (llvm::Error error = readStrings(root, "llvm_features", features))
    return error;
  target.features = llvm::join(features, ",");
  return readNumbers(root, target);
}

const EmbeddedSoc *findEmbedded(llvm::StringRef name) {
  for (const EmbeddedSoc &soc : llvm::ArrayRef(kEmbeddedSocs, kNumEmbeddedSocs))
    if (name == soc.name)
      return &soc;
  return nullptr;
}

} // namespace

llvm::StringRef nameOf(Isa isa) { return kIsas[static_cast<unsigned>(isa)].name; }

llvm::Expected<TargetDescription> parseTarget(llvm::StringRef text, llvm::StringRef file, std::string &aliasOf) {
  llvm::Expected<Json> json = parseJson(text, file);
  if (!json)
    return json.takeError();
  JsonCursor root(file, *json);
  TargetDescription target;
  if (llvm::Error error = readString(root, "name", target.name))
    return std::move(error);
  if (target.name + ".json" != file)
    return root.complain("has the name '" + target.name + "', expects that of the file");
  if (llvm::Error error = readString(root, "summary", target.summary))
    return std::move(error);
  if (llvm::Error error = readStrings(root, "sources", target.sources))
    return std::move(error);
  aliasOf.clear();
  if (llvm::Error error = root.find("alias_of") ? readString(root, "alias_of", aliasOf) : readMachine(root, target))
    return std::move(error);
  return target;
}

std::vector<std::string> targetNames() {
  std::vector<std::string> names = {"host"};
  for (const EmbeddedSoc &soc : llvm::ArrayRef(kEmbeddedSocs, kNumEmbeddedSocs))
    names.push_back(soc.name);
  std::sort(names.begin() + 1, names.end());
  return names;
}

llvm::Expected<TargetDescription> lookupTarget(llvm::StringRef name) {
  if (name == "host")
    return detectHost();
  std::string current = name.str(), next;
  // An alias names a description, so two steps are enough; one that names an alias again is an error of the data.
  for (int step = 0; step < 2; ++step) {
    const EmbeddedSoc *soc = findEmbedded(current);
    if (!soc)
      return fault("unknown target '" + name + "', expected one of " + llvm::join(targetNames(), ", "));
    llvm::Expected<TargetDescription> target = parseTarget(soc->text, current + ".json", next);
    if (!target || next.empty())
      return target;
    current = next;
  }
  return fault("target '" + name + "' is an alias of an alias, '" + current + "'; expected one step");
}

llvm::Expected<TargetDescription> detectHost() {
  llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return found.lookup(name); });
  };
  std::string needed;
#if defined(__aarch64__)
  if (hasAll({"dotprod", "i8mm", "fullfp16"}))
    return lookupTarget("arm64-i8mm");
  if (hasAll({"dotprod", "fullfp16"}))
    return lookupTarget("arm64-dotprod");
  needed = "dotprod and fullfp16";
#else
  bool isAvx2 = hasAll({"avx2", "fma", "f16c"});
  if (isAvx2 && hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"}))
    return lookupTarget("x86-64-avx512vnni");
  if (isAvx2)
    return lookupTarget("x86-64-avx2");
  needed = "avx2, fma and f16c";
#endif
  return fault("target 'host' needs a processor with " + needed + ", found '" + llvm::sys::getHostCPUName() +
               "'; name another target and run its output elsewhere");
}

} // namespace moec
