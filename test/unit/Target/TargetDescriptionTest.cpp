// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every description reads, aliases and the host resolve, and what is enabled is also checked at open.
#include "lib/Target/TargetDescription.h"

#include "moert/Generated.h"
#include "moert/PackFormat.h"

#include "gtest/gtest.h"

using namespace moec;

static TargetDescription target(llvm::StringRef name) { return cantFail(lookupTarget(name)); }

TEST(TargetDescriptionTest, EveryNameResolves) {
  std::vector<std::string> names = targetNames();
  EXPECT_EQ(names, (std::vector<std::string>{"host", "arm64", "arm64-dotprod", "arm64-i8mm", "generic-armv8.2",
                                             "snapdragon-8-gen3", "x86-64-avx2", "x86-64-avx512vnni"}));
  for (llvm::StringRef name : llvm::ArrayRef(names).drop_front()) {
    TargetDescription found = target(name);
    EXPECT_FALSE(found.summary.empty() || found.triple.empty() || found.cpu.empty()) << name.str();
    EXPECT_TRUE(found.triple.starts_with(found.runtimeTriple.substr(0, 6))) << name.str();
    EXPECT_FALSE(found.sources.empty()) << name.str();
  }
}

TEST(TargetDescriptionTest, ArmTargetsRequireWhatTheyEnable) {
  TargetDescription i8mm = target("arm64-i8mm"), dotprod = target("arm64-dotprod");
  EXPECT_EQ(i8mm.isa, Isa::I8mm);
  EXPECT_EQ(i8mm.featuresRequired, MOERT_FEATURE_ARM_DOTPROD | MOERT_FEATURE_ARM_I8MM | MOERT_FEATURE_ARM_FP16);
  EXPECT_EQ(dotprod.featuresRequired, uint32_t(MOERT_FEATURE_ARM_DOTPROD | MOERT_FEATURE_ARM_FP16));
  EXPECT_EQ(i8mm.features, "+neon,+dotprod,+i8mm,+fullfp16,-bf16,-sve,-sve2");
  EXPECT_EQ(dotprod.features, "+neon,+dotprod,+fullfp16,-bf16,-i8mm,-sve,-sve2");
  EXPECT_EQ(i8mm.layoutFamily(), LayoutFamily::Arm64);
  EXPECT_EQ(uint32_t(i8mm.layoutFamily()), uint32_t(MOEPACK_FAMILY_ARM64));
  EXPECT_EQ(i8mm.pageBytes, 16384u);
}

TEST(TargetDescriptionTest, X86TargetsRequireWhatTheyEnable) {
  TargetDescription avx2 = target("x86-64-avx2"), vnni = target("x86-64-avx512vnni");
  uint32_t base = MOERT_FEATURE_X86_AVX2 | MOERT_FEATURE_X86_FMA | MOERT_FEATURE_X86_F16C;
  EXPECT_EQ(avx2.featuresRequired, base);
  EXPECT_EQ(vnni.featuresRequired, base | MOERT_FEATURE_X86_AVX512 | MOERT_FEATURE_X86_AVX512_VNNI);
  EXPECT_EQ(vnni.layoutFamily(), LayoutFamily::X86);
  EXPECT_EQ(uint32_t(vnni.layoutFamily()), uint32_t(MOEPACK_FAMILY_X86));
  EXPECT_EQ(nameOf(vnni.isa), "avx512vnni");
}

TEST(TargetDescriptionTest, AliasesGiveTheSameDescription) {
  for (auto [alias, name] : {std::pair("arm64", "arm64-i8mm"), std::pair("snapdragon-8-gen3", "arm64-i8mm"),
                             std::pair("generic-armv8.2", "arm64-dotprod")}) {
    EXPECT_EQ(target(alias).name, name);
    EXPECT_EQ(target(alias).features, target(name).features);
  }
}

TEST(TargetDescriptionTest, HostIsAConcreteTarget) {
  llvm::Expected<TargetDescription> host = lookupTarget("host");
  if (!host) { // a machine without AVX2 or dotprod
    EXPECT_NE(llvm::toString(host.takeError()).find("target 'host' needs a processor with "), std::string::npos);
    return;
  }
  EXPECT_EQ(target(host->name).features, host->features);
}

TEST(TargetDescriptionTest, UnknownNamesListTheValidOnes) {
  EXPECT_EQ(llvm::toString(lookupTarget("pentium").takeError()),
            "unknown target 'pentium', expected one of host, arm64, arm64-dotprod, arm64-i8mm, generic-armv8.2, "
            "snapdragon-8-gen3, x86-64-avx2, x86-64-avx512vnni");
}

TEST(TargetDescriptionTest, BrokenDescriptionsAreNamed) {
  std::string alias;
  auto refused = [&](llvm::StringRef text) { return llvm::toString(parseTarget(text, "a.json", alias).takeError()); };
  EXPECT_EQ(refused(R"({"name": "b"})"), "a.json: the document has the name 'b', expects that of the file");
  EXPECT_NE(refused(R"({"name": "a", "summary": "s", "sources": [], "triple": "t", "runtime_triple": "t", "cpu": "c",
                       "llvm_features": [], "isa": "mmx", "page_bytes": 4096, "features_required": []})")
                .find("expects one of avx2, avx512vnni, dotprod, i8mm"),
            std::string::npos);
}
