// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weights that presets leave in f32, and what rules may give them.
#include "lib/Quant/Presets.h"

#include "gtest/gtest.h"

using namespace moec;

namespace {

WeightFacts weightOf(std::string name, std::string role) {
  return {std::move(name), {}, std::move(role), /*layer=*/0, /*columns=*/256, /*isVector=*/false};
}

TEST(FixedWeights, GateOfASharedExpertStaysF32) {
  WeightFacts gate = weightOf("layers.0.shared.router", "shared_router");
  EXPECT_NE(gate.reasonForF32().find("scales all of its output"), std::string::npos);
  EXPECT_EQ(nameOf(llvm::cantFail(presetEncodings({gate}, "int4", "auto"))[0]), "f32");
}

TEST(FixedWeights, MatricesTakeWhatTheirStepsTake) {
  auto takes = [](llvm::StringRef role, const Encoding &encoding) {
    return weightOf("w", role.str()).reasonAgainst(encoding).empty();
  };
  for (llvm::StringRef role : {"router", "recurrent_conv"})
    EXPECT_TRUE(takes(role, Encoding::f16()) && !takes(role, Encoding::i8(32))) << role.str();
  for (llvm::StringRef role : {"recurrent_decay", "recurrent_beta", "attention_q"})
    EXPECT_TRUE(takes(role, Encoding::f16()) && takes(role, Encoding::i4(32))) << role.str();
  for (llvm::StringRef role : {"shared_router", "norm", "recurrent"})
    EXPECT_TRUE(takes(role, Encoding::f32()) && !takes(role, Encoding::f16())) << role.str();
}

} // namespace
