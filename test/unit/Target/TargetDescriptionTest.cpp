// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every description resolves; aliases, platforms and the host too; what is enabled is also checked at open.
#include "lib/Target/TargetDescription.h"

#include "moert/Generated.h"
#include "moert/PackFormat.h"

#include "gtest/gtest.h"

using namespace moec;

static TargetDescription target(llvm::StringRef name) { return cantFail(lookupTarget(name)); }

TEST(TargetDescriptionTest, EveryNameResolves) {
  std::vector<std::string> names = targetNames();
  EXPECT_EQ(names,
            (std::vector<std::string>{"host", "arm64", "arm64-dotprod", "arm64-i8mm", "arm64-neon", "dimensity-9400",
                                      "generic-armv8", "generic-armv8.2", "snapdragon-8-elite", "snapdragon-8-gen3",
                                      "tensor-g4", "x86-64-avx2", "x86-64-avx512vnni", "x86-64-avxvnni"}));
  for (llvm::StringRef name : llvm::ArrayRef(names).drop_front()) {
    TargetDescription found = target(name);
    EXPECT_FALSE(found.summary.empty() || found.triple.empty() || found.cpu.empty()) << name.str();
    EXPECT_TRUE(found.triple.starts_with(found.runtimeTriple.substr(0, 6))) << name.str();
    EXPECT_FALSE(found.sources.empty()) << name.str();
    EXPECT_EQ(target(found.name).name, found.name);
  }
}

TEST(TargetDescriptionTest, ArmTargetsRequireWhatTheyEnable) {
  TargetDescription i8mm = target("arm64-i8mm"), dotprod = target("arm64-dotprod");
  EXPECT_EQ(i8mm.isa, Isa::I8mm);
  EXPECT_EQ(i8mm.featuresRequired, MOERT_FEATURE_ARM_DOTPROD | MOERT_FEATURE_ARM_I8MM | MOERT_FEATURE_ARM_FP16);
  EXPECT_EQ(dotprod.featuresRequired, uint32_t(MOERT_FEATURE_ARM_DOTPROD | MOERT_FEATURE_ARM_FP16));
  EXPECT_EQ(target("arm64-neon").featuresRequired, 0u);
  EXPECT_EQ(target("arm64-neon").isa, Isa::Neon);
  EXPECT_EQ(target("arm64-neon").layoutFamily(), LayoutFamily::Arm64);
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
  EXPECT_EQ(target("x86-64-avxvnni").featuresRequired, base | MOERT_FEATURE_X86_AVX_VNNI);
  EXPECT_EQ(target("x86-64-avxvnni").layoutFamily(), LayoutFamily::X86);
  EXPECT_EQ(vnni.layoutFamily(), LayoutFamily::X86);
  EXPECT_EQ(uint32_t(vnni.layoutFamily()), uint32_t(MOEPACK_FAMILY_X86));
  EXPECT_EQ(nameOf(vnni.isa), "avx512vnni");
}

TEST(TargetDescriptionTest, AliasesWithoutFactsAreOtherNames) {
  for (auto [alias, name] : {std::pair("arm64", "arm64-i8mm"), std::pair("generic-armv8.2", "arm64-dotprod"),
                             std::pair("generic-armv8", "arm64-neon")}) {
    EXPECT_EQ(target(alias).name, name);
    EXPECT_EQ(target(alias).features, target(name).features);
  }
}

TEST(TargetDescriptionTest, SocsTakeCodeFromAnAliasAndHaveFactsOfTheirOwn) {
  TargetDescription i8mm = target("arm64-i8mm");
  EXPECT_FALSE(i8mm.dramBytesPerSecond || i8mm.flashBytesPerSecond);
  for (llvm::StringRef name : {"snapdragon-8-gen3", "snapdragon-8-elite", "dimensity-9400", "tensor-g4"}) {
    TargetDescription soc = target(name);
    EXPECT_EQ(soc.name, name);
    EXPECT_EQ(soc.features, i8mm.features);
    EXPECT_EQ(soc.featuresRequired, i8mm.featuresRequired);
    EXPECT_EQ(soc.isa, Isa::I8mm);
    EXPECT_EQ(soc.machine.numCores(), 8u) << name.str();
    EXPECT_FALSE(soc.machine.clustersSource.empty());
    EXPECT_TRUE(soc.dramBytesPerSecond && soc.flashBytesPerSecond) << name.str();
  }
  TargetDescription gen3 = target("snapdragon-8-gen3");
  EXPECT_EQ(gen3.dramBytesPerSecond, gen3.machine.dramSustainedBytesPerSecond->value);
  EXPECT_TRUE(gen3.machine.dramSustainedBytesPerSecond->isEstimated);
  EXPECT_EQ(gen3.flashBytesPerSecond, gen3.machine.flashSustainedBytesPerSecond->value);
}

TEST(TargetDescriptionTest, ThePlatformIsChosenApartFromTheProcessor) {
  TargetDescription android = target("arm64@android"), usual = target("arm64-i8mm@linux-gnu");
  EXPECT_EQ(android.name, "arm64-i8mm@android");
  EXPECT_EQ(android.platform, Platform::Android);
  EXPECT_EQ(android.triple, "aarch64-unknown-linux-android");
  EXPECT_EQ(android.runtimeTriple, "aarch64-linux-android");
  EXPECT_EQ(android.features, usual.features);
  EXPECT_EQ(target(android.name).triple, android.triple);
  EXPECT_EQ(usual.name, "arm64-i8mm");
  EXPECT_EQ(usual.triple, "aarch64-unknown-linux-gnu");
  EXPECT_EQ(target("snapdragon-8-gen3@android").runtimeTriple, "aarch64-linux-android");
  EXPECT_EQ(target("tensor-g4@linux-gnu").runtimeTriple, "aarch64-linux-gnu");
}

TEST(TargetDescriptionTest, PlatformsThatDoNotExistAreRefused) {
  auto refused = [](llvm::StringRef name) { return llvm::toString(lookupTarget(name).takeError()); };
  EXPECT_EQ(refused("x86-64-avx2@android"), "target 'x86-64-avx2' has no platform 'android', expected linux-gnu");
  EXPECT_EQ(refused("arm64@ios"), "target 'arm64' has no platform 'ios', expected linux-gnu or android");
  EXPECT_EQ(refused("arm64@"), "target 'arm64' has no platform '', expected linux-gnu or android");
  EXPECT_EQ(refused("host@android"), "target 'host' takes no platform, but got 'android'");
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
            "unknown target 'pentium', expected one of host, arm64, arm64-dotprod, arm64-i8mm, arm64-neon, "
            "dimensity-9400, generic-armv8, generic-armv8.2, snapdragon-8-elite, snapdragon-8-gen3, tensor-g4, "
            "x86-64-avx2, x86-64-avx512vnni, x86-64-avxvnni");
}
