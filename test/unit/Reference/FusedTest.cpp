// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each fused operation gives the same bits as the composition that it replaces.
#include "test/unit/Reference/FunctionFixture.h"

using namespace moec;
using namespace mlir;

namespace {

using FusedTest = FunctionTest;

TEST_F(FusedTest, NormQuantize) {
  const char *source = R"(
    func.func @fused(%x: tensor<?x64xf32>, %w: tensor<64xf32>)
        -> (tensor<?x64xf32>, tensor<?x64xf32, #moe.act<group = 32>>) {
      %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32}
          : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32, #moe.act<group = 32>>
      return %y, %q : tensor<?x64xf32>, tensor<?x64xf32, #moe.act<group = 32>>
    }
    func.func @plain(%x: tensor<?x64xf32>, %w: tensor<64xf32>)
        -> (tensor<?x64xf32>, tensor<?x64xf32, #moe.act<group = 32>>) {
      %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x64xf32>, tensor<64xf32>
      %q = moe.quantize_act %y : tensor<?x64xf32> -> tensor<?x64xf32, #moe.act<group = 32>>
      return %y, %q : tensor<?x64xf32>, tensor<?x64xf32, #moe.act<group = 32>>
    })";
  FloatTensor w{{64}, waves(1, 64, 0.3f).values};
  EXPECT_EQ(call(source, "fused", {waves(3, 64, 0.7f), w}), call(source, "plain", {waves(3, 64, 0.7f), w}));
}

TEST_F(FusedTest, RopeAppend) {
  std::string source = R"(
    !cache = !moe.cache<kv_heads = 1, qk_dim = 4, v_dim = 2, capacity = 64, elem = i8>
    func.func @fused(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>, %v: tensor<?x2xf32>, %w: tensor<4xf32>, %c: !cache)
        -> (tensor<?x8xf32>, tensor<?x4xf32>, !cache) {
      %p = arith.constant 0 : index
      %r, %c1 = moe.rope_append %q, %k, %v, %c, %p norms(%w, %w
          : tensor<4xf32>, tensor<4xf32>) {dim = 2, theta = 1.0e4 : f64, eps = 1.0e-6 : f32}
          : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x2xf32>, !cache
      %o, %c2 = moe.attention %r, %c1, %p {heads = 2, scale = 0.5 : f32} : tensor<?x8xf32>, !cache -> tensor<?x4xf32>
      return %r, %o, %c2 : tensor<?x8xf32>, tensor<?x4xf32>, !cache
    }
    func.func @plain(%q: tensor<?x8xf32>, %k: tensor<?x4xf32>, %v: tensor<?x2xf32>, %w: tensor<4xf32>, %c: !cache)
        -> (tensor<?x8xf32>, tensor<?x4xf32>, !cache) {
      %p = arith.constant 0 : index
      %qn = moe.rms_norm %q, %w {eps = 1.0e-6 : f32} : tensor<?x8xf32>, tensor<4xf32>
      %kn = moe.rms_norm %k, %w {eps = 1.0e-6 : f32} : tensor<?x4xf32>, tensor<4xf32>
      %r = moe.rope %qn, %p {head_dim = 4, dim = 2, theta = 1.0e4 : f64} : tensor<?x8xf32>
      %kr = moe.rope %kn, %p {head_dim = 4, dim = 2, theta = 1.0e4 : f64} : tensor<?x4xf32>
      %c1 = moe.cache_append %c, %kr, %v, %p : !cache, tensor<?x4xf32>, tensor<?x2xf32>
      %o, %c2 = moe.attention %r, %c1, %p {heads = 2, scale = 0.5 : f32} : tensor<?x8xf32>, !cache -> tensor<?x4xf32>
      return %r, %o, %c2 : tensor<?x8xf32>, tensor<?x4xf32>, !cache
    })";
  auto arguments = [&]() -> std::vector<RuntimeValue> {
    FloatTensor w{{4}, {1.0f, 0.5f, 2.0f, 1.5f}};
    return {waves(3, 8, 0.7f), waves(3, 4, 0.9f), waves(3, 2, 1.1f), w,
            std::make_shared<KvCache>(KvShape{1, 4, 2, 64, KvElement::i8})};
  };
  EXPECT_EQ(call(source, "fused", arguments()), call(source, "plain", arguments()));
}

TEST_F(FusedTest, RopeAppendWithOffsetNormsPartAndScaling) {
  std::string source = R"(
    !cache = !moe.cache<kv_heads = 1, qk_dim = 6, v_dim = 2, capacity = 64, elem = f32>
    #llama = #moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 1.0 : f64, high = 4.0 : f64, original = 16>
    func.func @fused(%q: tensor<?x12xf32>, %k: tensor<?x6xf32>, %v: tensor<?x2xf32>, %w: tensor<6xf32>, %c: !cache)
        -> (tensor<?x12xf32>, tensor<?x4xf32>, !cache) {
      %p = arith.constant 0 : index
      %r, %c1 = moe.rope_append %q, %k, %v, %c, %p norms(%w, %w : tensor<6xf32>, tensor<6xf32>) {dim = 4,
          theta = 1.0e2 : f64, eps = 1.0e-5 : f32, unit_offset, scaling = #llama}
          : tensor<?x12xf32>, tensor<?x6xf32>, tensor<?x2xf32>, !cache
      %o, %c2 = moe.attention %r, %c1, %p {heads = 2, scale = 0.5 : f32} : tensor<?x12xf32>, !cache -> tensor<?x4xf32>
      return %r, %o, %c2 : tensor<?x12xf32>, tensor<?x4xf32>, !cache
    }
    func.func @plain(%q: tensor<?x12xf32>, %k: tensor<?x6xf32>, %v: tensor<?x2xf32>, %w: tensor<6xf32>, %c: !cache)
        -> (tensor<?x12xf32>, tensor<?x4xf32>, !cache) {
      %p = arith.constant 0 : index
      %qn = moe.rms_norm %q, %w {eps = 1.0e-5 : f32, unit_offset} : tensor<?x12xf32>, tensor<6xf32>
      %kn = moe.rms_norm %k, %w {eps = 1.0e-5 : f32, unit_offset} : tensor<?x6xf32>, tensor<6xf32>
      %r = moe.rope %qn, %p {head_dim = 6, dim = 4, theta = 1.0e2 : f64, scaling = #llama} : tensor<?x12xf32>
      %kr = moe.rope %kn, %p {head_dim = 6, dim = 4, theta = 1.0e2 : f64, scaling = #llama} : tensor<?x6xf32>
      %c1 = moe.cache_append %c, %kr, %v, %p : !cache, tensor<?x6xf32>, tensor<?x2xf32>
      %o, %c2 = moe.attention %r, %c1, %p {heads = 2, scale = 0.5 : f32} : tensor<?x12xf32>, !cache -> tensor<?x4xf32>
      return %r, %o, %c2 : tensor<?x12xf32>, tensor<?x4xf32>, !cache
    })";
  auto arguments = [&]() -> std::vector<RuntimeValue> {
    FloatTensor w{{6}, {0.1f, -0.5f, 0.2f, 0.0f, 0.3f, -0.2f}};
    return {waves(3, 12, 0.7f), waves(3, 6, 0.9f), waves(3, 2, 1.1f), w,
            std::make_shared<KvCache>(KvShape{1, 6, 2, 64, KvElement::f32})};
  };
  EXPECT_EQ(call(source, "fused", arguments()), call(source, "plain", arguments()));
}

TEST_F(FusedTest, ResidualAndBiases) {
  const char *source = R"(
    func.func @fused(%x: tensor<?x4xf32>, %g: tensor<?x1xf32>, %r: tensor<?x4xf32>, %w: tensor<3x4xf32>,
        %b: tensor<3xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
      %y = moe.gate %x, %g residual(%r : tensor<?x4xf32>) {kind = #moe.activation<sigmoid>}
          : tensor<?x4xf32>, tensor<?x1xf32>
      %p, %s = moe.multi_linear %x, %w, %w biases(%b, %b : tensor<3xf32>, tensor<3xf32>)
          : tensor<?x4xf32>, tensor<3x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>, tensor<?x3xf32>
      return %y, %p, %s : tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x3xf32>
    }
    func.func @plain(%x: tensor<?x4xf32>, %g: tensor<?x1xf32>, %r: tensor<?x4xf32>, %w: tensor<3x4xf32>,
        %b: tensor<3xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
      %z = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>, tensor<?x1xf32>
      %y = arith.addf %z, %r : tensor<?x4xf32>
      %p = moe.linear %x, %w bias(%b : tensor<3xf32>) : tensor<?x4xf32>, tensor<3x4xf32> -> tensor<?x3xf32>
      return %y, %p, %p : tensor<?x4xf32>, tensor<?x3xf32>, tensor<?x3xf32>
    })";
  std::vector<RuntimeValue> arguments = {waves(3, 4, 0.7f), waves(3, 1, 0.9f), waves(3, 4, 0.3f), waves(3, 4, 1.1f),
                                         FloatTensor{{3}, {0.1f, -0.7f, 1.3f}}};
  EXPECT_EQ(call(source, "fused", arguments), call(source, "plain", arguments));
}

TEST_F(FusedTest, RouterTopk) {
  const char *source = R"(
    func.func @fused(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>) -> (tensor<?x3xf32>, tensor<?x3xi32>) {
      %v, %ids = moe.router_topk %x, %w {k = 3, score = #moe.score<softmax>, renormalize}
          : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
      return %v, %ids : tensor<?x3xf32>, tensor<?x3xi32>
    }
    func.func @plain(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>) -> (tensor<?x3xf32>, tensor<?x3xi32>) {
      %l = moe.linear %x, %w : tensor<?x16xf32>, tensor<8x16xf32> -> tensor<?x8xf32>
      %v, %ids = moe.route %l {k = 3, score = #moe.score<softmax>, renormalize}
          : tensor<?x8xf32> -> tensor<?x3xf32>, tensor<?x3xi32>
      return %v, %ids : tensor<?x3xf32>, tensor<?x3xi32>
    })";
  EXPECT_EQ(call(source, "fused", {waves(5, 16, 0.7f), waves(8, 16, 0.37f)}),
            call(source, "plain", {waves(5, 16, 0.7f), waves(8, 16, 0.37f)}));
}

} // namespace
