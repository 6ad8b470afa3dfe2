// SPDX-License-Identifier: Apache-2.0
/// \file
/// Precision rules, plan files and the search for a size.
#include "lib/Quant/PrecisionFile.h"
#include "lib/Quant/PrecisionTarget.h"
#include "lib/Quant/Presets.h"
#include "lib/Quant/SourceEncoding.h"

#include "gtest/gtest.h"

using namespace moec;

namespace {

WeightFacts weightOf(std::string name, std::string role, int64_t layer, int64_t columns, int64_t experts = 0) {
  WeightFacts facts{std::move(name), {}, std::move(role), layer, columns, false};
  for (int64_t i = 0; i < experts; ++i)
    facts.pieces.push_back("layers." + std::to_string(layer) + ".experts." + std::to_string(i) + "." + facts.role);
  return facts;
}

/// Two layers: q, router, gate and down of 4 experts each; an embedding and a norm.
std::vector<WeightFacts> sampleWeights() {
  std::vector<WeightFacts> weights{weightOf("embed", "embedding", -1, 256)};
  for (int64_t layer : {0, 1}) {
    std::string prefix = "layers." + std::to_string(layer) + ".";
    weights.push_back(weightOf(prefix + "q", "attention_q", layer, 256));
    weights.push_back(weightOf(prefix + "router", "router", layer, 256));
    weights.push_back(weightOf(prefix + "experts.*.expert_gate", "expert_gate", layer, 256, 4));
    weights.push_back(weightOf(prefix + "experts.*.expert_down", "expert_down", layer, 192, 4));
  }
  weights.push_back(weightOf("norm", "norm", -1, 256));
  weights.back().isVector = true;
  return weights;
}

std::vector<Encoding> resolve(llvm::StringRef preset, std::vector<PrecisionRule> rules) {
  auto weights = sampleWeights();
  auto encodings = llvm::cantFail(presetEncodings(weights, preset, "auto"));
  llvm::cantFail(applyRules(weights, rules, encodings));
  return encodings;
}

/// Bits of all weights under `rules`, each weight of `columns` values.
llvm::Expected<uint64_t> bitsUnder(llvm::ArrayRef<PrecisionRule> rules) {
  auto weights = sampleWeights();
  auto encodings = llvm::cantFail(presetEncodings(weights, "int8", "auto"));
  if (llvm::Error error = applyRules(weights, rules, encodings))
    return std::move(error);
  double bits = 0;
  for (auto [weight, encoding] : llvm::zip_equal(weights, encodings))
    bits += bitsPerWeight(encoding, weight.columns) * double(weight.columns) * (weight.pieces.empty() ? 1 : 4);
  return static_cast<uint64_t>(bits);
}

TEST(TiedEmbedding, FollowsTheHeadUnlessItIsNamedAlone) {
  auto both = [](std::vector<std::pair<const char *, const char *>> rules) {
    std::vector<WeightFacts> weights{weightOf("embed", "embedding", -1, 256), weightOf("q", "attention_q", 0, 256),
                                     weightOf("embed", "head", -1, 256)};
    weights[0].isTied = true;
    auto encodings = llvm::cantFail(presetEncodings(weights, "int4", "auto"));
    std::vector<PrecisionRule> list;
    for (auto [roles, encoding] : rules) {
      list.emplace_back().roles = roles;
      list.back().encoding = encoding;
    }
    llvm::cantFail(applyRules(weights, list, encodings));
    return nameOf(encodings[0]) + " " + nameOf(encodings[2]);
  };
  EXPECT_EQ(both({}), "i4/32 i4/32");
  EXPECT_EQ(both({{"head", "i8/64"}}), "i8/64 i8/64");
  EXPECT_EQ(both({{"embedding,head", "f16"}}), "f16 f16");
  EXPECT_EQ(both({{"embedding", "i8/32"}}), "i8/32 i4/32");
  EXPECT_EQ(both({{"embedding", "i8/32"}, {"head", "f16"}}), "i8/32 f16");
}

TEST(NumberSet, ReadsNumbersAndRanges) {
  auto set = llvm::cantFail(NumberSet::parse("0-3, 7"));
  EXPECT_TRUE(set.contains(0) && set.contains(3) && set.contains(7));
  EXPECT_FALSE(set.contains(4) || set.contains(8) || set.contains(-1));
  EXPECT_EQ(set.largest(), 7);
  for (llvm::StringRef wrong : {"", "a", "3-1", "-1", "1-", "1,,2", "99999999999999999999"})
    EXPECT_TRUE(llvm::errorToBool(NumberSet::parse(wrong).takeError())) << wrong.str();
  EXPECT_EQ(formatNumbers({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}

TEST(Presets, RoleDecides) {
  auto mixed = resolve("mixed", {});
  EXPECT_EQ(nameOf(mixed[0]), "i8/32"); // embedding
  EXPECT_EQ(nameOf(mixed[1]), "i4/32"); // q
  EXPECT_EQ(nameOf(mixed[2]), "f32");   // router
  EXPECT_EQ(nameOf(mixed.back()), "f32");
  for (llvm::StringRef preset : presetNames())
    EXPECT_FALSE(llvm::errorToBool(checkPreset(preset)));
  EXPECT_NE(llvm::toString(checkPreset("int3")).find("4 bits are the floor"), std::string::npos);
}

TEST(Presets, SourceKeepsWhatTheFileHas) {
  std::vector<WeightFacts> weights;
  std::vector<std::string> found;
  for (llvm::StringRef dtype : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q6_k"}) {
    weights.push_back(weightOf("layers.0.v", "attention_v", 0, 256));
    weights.back().source = dtype.str();
  }
  for (const Encoding &encoding : llvm::cantFail(presetEncodings(weights, "source", "auto")))
    found.push_back(nameOf(encoding));
  EXPECT_EQ(found, (std::vector<std::string>{"f32", "f16", "f32", "i8/32", "i4/32", "i4m/32", "i8/32"}));
  EXPECT_TRUE(isVerbatim("q4_1", Encoding::i4m(32)) && !isVerbatim("q4_1", Encoding::i4(32)));
  EXPECT_TRUE(!isVerbatim("q6_k", Encoding::i8(32)) && !isVerbatim("bf16", Encoding::f32()));
  EXPECT_NE(llvm::toString(presetEncodings(weights, "source", "64").takeError()).find("expects the group auto with"),
            std::string::npos);
}

TEST(PrecisionRules, LaterOnesWin) {
  auto encodings = resolve("int4", {{.roles = "expert_*", .encoding = "i6/64"},
                                    {.roles = "expert_gate", .layers = "1", .encoding = "i8/128"},
                                    {.tensor = "layers.0.experts.*", .encoding = "f16"}});
  EXPECT_EQ(nameOf(encodings[3]), "f16");
  EXPECT_EQ(nameOf(encodings[7]), "i8/128");
  EXPECT_EQ(nameOf(encodings[8]), "i6/64");
}

TEST(PrecisionFile, IsAFixedPoint) {
  auto weights = sampleWeights();
  auto encodings = resolve("mixed", {{.roles = "expert_down", .layers = "1", .encoding = "i8m/64"}});
  std::string text = writePrecisionPlan("mixed", "auto", weights, encodings);
  auto plan = parsePrecisionPlan(text, "plan.json");
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());
  EXPECT_EQ(plan->quant, "mixed");
  // Under another preset the lines alone decide.
  auto again = llvm::cantFail(presetEncodings(weights, "f32", "auto"));
  ASSERT_FALSE(llvm::errorToBool(applyRules(weights, plan->rules, again)));
  EXPECT_EQ(writePrecisionPlan("mixed", "auto", weights, again), text);
}

TEST(PrecisionFile, NamesThePlaceOfAFault) {
  for (auto [text, message] :
       {std::pair("{\"rules\": [}", "plan.json"), std::pair("[]", "plan.json: the document is an array of 0"),
        std::pair(R"({"rules": [], "tensor": []})", "key 'tensor', expects format, quant, group, tensors, rules"),
        std::pair(R"({"format": "moec precision plan 2"})", "plan.json: format is \"moec precision plan 2\""),
        std::pair(R"({"rules": [{"roles": "head"}]})", "plan.json: rules[0].encoding is missing"),
        std::pair(R"({"rules": [{"roles": 3, "encoding": "f16"}]})", "rules[0].roles is 3, expects a string"),
        std::pair(R"({"rules": [{"encoding": "i3/32"}]})", "rules[0].encoding cannot be followed: 'i3/32' has 3 bits"),
        std::pair(R"({"rules": [{"encoding": "f16"}, {"roles": "hed", "encoding": "f16"}]})",
                  "plan.json: rule 2 names the role 'hed'"),
        std::pair(R"({"rules": [{"role": "head", "encoding": "f16"}]})", "rules[0] has the unknown key 'role'"),
        std::pair(R"({"tensors": [{"encoding": "f16"}]})", "plan.json: tensors[0].tensor is missing")}) {
    std::string found = llvm::toString(parsePrecisionPlan(text, "plan.json").takeError());
    EXPECT_NE(found.find(message), std::string::npos) << text << "\n" << found;
  }
}

TEST(PrecisionTarget, FitsOrNamesTheSmallestSize) {
  auto weights = sampleWeights();
  uint64_t all8 = llvm::cantFail(bitsUnder({}));
  // Groups of 128 where they divide the columns: those of down have 192 columns and keep 64.
  uint64_t smallest = llvm::cantFail(bitsUnder(
      {{.roles = "embedding,attention_q,expert_*", .encoding = "i4/128", .label = "all", .isGroupLimit = true}}));
  EXPECT_LT(smallest, all8 * 0.75);
  for (uint64_t limit = all8; limit >= smallest; limit -= 97) {
    auto fitted = fitPrecision(weights, limit, 0, "--pack-size", bitsUnder);
    ASSERT_TRUE(bool(fitted)) << llvm::toString(fitted.takeError());
    EXPECT_LE(fitted->sizeBytes, limit);
    EXPECT_EQ(fitted->sizeBytes, llvm::cantFail(bitsUnder(fitted->rules)));
  }
  EXPECT_EQ(llvm::cantFail(fitPrecision(weights, smallest, 0, "--pack-size", bitsUnder)).sizeBytes, smallest);
  std::string message = llvm::toString(fitPrecision(weights, smallest - 1, 0, "--pack-size", bitsUnder).takeError());
  EXPECT_NE(message.find("the smallest pack of this model has " + std::to_string(smallest)), std::string::npos);
  EXPECT_NE(message.find("router (the router chooses the experts"), std::string::npos) << message;
}

TEST(PrecisionTarget, LowersTheLeastSensitiveFirst) {
  auto weights = sampleWeights();
  uint64_t all8 = llvm::cantFail(bitsUnder({}));
  auto all = llvm::cantFail(fitPrecision(weights, all8, 0, "--pack-size", bitsUnder));
  for (const PrecisionRule &rule : all.rules)
    EXPECT_EQ(rule.encoding, "i8/32") << rule.roles;
  auto less = llvm::cantFail(fitPrecision(weights, all8 - 1, 0, "--pack-size", bitsUnder));
  EXPECT_EQ(less.rules[0].roles, "expert_gate");
  EXPECT_EQ(less.rules[0].encoding, "i6/64");
  for (size_t i = 1; i < less.rules.size(); ++i)
    EXPECT_EQ(less.rules[i].encoding, "i8/32") << less.rules[i].roles;
  // A fixed group stays.
  auto wide = llvm::cantFail(fitPrecision(weights, all8 / 10 * 8, 64, "--pack-size", bitsUnder));
  for (const PrecisionRule &rule : wide.rules)
    EXPECT_TRUE(llvm::StringRef(rule.encoding).ends_with("/64")) << rule.encoding;
}

} // namespace
