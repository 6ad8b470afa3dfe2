// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a KV cache costs for known shapes of models, and which blocks a window keeps.
#include "lib/Plan/KvLayout.h"

#include "include/moert/KvWindow.h"

#include "gtest/gtest.h"

#include <set>

using namespace moec;

namespace {

KvLayout heads(int64_t kvHeads, int64_t dim, KvElement element) { return {kvHeads, dim, dim, element}; }

uint64_t bytesOf(int64_t layers, const KvLayout &layer, uint32_t context) {
  return kvCacheBytes(layer, layers, context / kKvBlockPositions).value_or(0);
}

uint64_t blocksOf(uint32_t context, uint32_t window, uint32_t sinks, uint32_t chunk) {
  moert_kv_window made = moert_make_kv_window(context, window, sinks, chunk);
  return moert_kv_num_blocks(&made, context);
}

} // namespace

TEST(KvLayout, BytesOfADenseModelByElement) {
  // 64 layers of 40 heads of 128, 4096 positions, keys and values.
  constexpr uint64_t kValues = 2ull * 64 * 40 * 128 * 4096;
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::f32), 4096), 4 * kValues);
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::f16), 4096), 5368709120u); // 5.37 GB
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::f16), 4096), 2 * kValues);
  // int8: a scale of 4 bytes for 128 codes. int4: one of 2 bytes for 128 keys, four for 128 values.
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::i8), 4096), kValues + kValues / 128 * 4);
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::i4), 4096),
            kValues / 2 + kValues / 2 / 128 * 2 + kValues / 2 / 32 * 2);
}

TEST(KvLayout, SharedHeadsCostTheirShare) {
  uint64_t all = bytesOf(64, heads(40, 128, KvElement::f16), 4096);
  EXPECT_EQ(bytesOf(64, heads(8, 128, KvElement::f16), 4096), all / 5);  // GQA
  EXPECT_EQ(bytesOf(64, heads(1, 128, KvElement::f16), 4096), all / 40); // MQA
  EXPECT_EQ(bytesOf(64, heads(40, 128, KvElement::f16), 2048), all / 2);
  // Qwen3.6-35B-A3B: 10 layers with full attention, 2 KV heads of 256: 84 MB.
  EXPECT_EQ(bytesOf(10, heads(2, 256, KvElement::f16), 4096), 83886080u);
}

TEST(KvLayout, RotationMixesTheLargestPowerOfTwo) {
  const int64_t expected[][2] = {{24, 8}, {40, 8}, {64, 64}, {80, 16}, {96, 32}, {112, 16}, {128, 128}, {192, 64}};
  for (auto [dim, block] : expected)
    EXPECT_EQ(kvRotationBlock(dim), block);
}

TEST(KvLayout, RefusesHeadsWithoutKernel) {
  for (int64_t dim : {24, 40, 64, 80, 96, 112, 128, 192, 256})
    EXPECT_EQ(llvm::toString(checkKvHeads(heads(2, dim, KvElement::i4))), "");
  EXPECT_EQ(llvm::toString(checkKvHeads(heads(2, 20, KvElement::f16))),
            "a KV cache with head_dim 20 has no kernel; supported are multiples of 8 up to 1024");
  EXPECT_EQ(llvm::toString(checkKvHeads(heads(2, 1032, KvElement::f16))),
            "a KV cache with head_dim 1032 has no kernel; supported are multiples of 8 up to 1024");
  EXPECT_EQ(llvm::toString(checkKvHeads(heads(0, 64, KvElement::f16))),
            "a KV cache with kv_heads 0 has no kernel; supported are 1 to 65536");
}

TEST(KvWindow, BlocksAreConstantBeyondTheWindow) {
  EXPECT_EQ(blocksOf(4096, 0, 0, 64), 64u);
  EXPECT_EQ(blocksOf(4096, 4096, 4, 64), 64u); // the window shows everything
  // 512 + 63 positions in a row touch at most 10 blocks.
  EXPECT_EQ(blocksOf(4096, 512, 0, 64), 10u);
  EXPECT_EQ(blocksOf(1 << 20, 512, 0, 64), 10u);
  EXPECT_EQ(blocksOf(4096, 512, 4, 64), 11u);
  EXPECT_EQ(blocksOf(4096, 1, 0, 1), 1u);
  EXPECT_EQ(blocksOf(256, 200, 100, 64), 4u); // never more than the context
  EXPECT_EQ(blocksOf(128, 64, 127, 64), 2u);
}

TEST(KvWindow, BlocksInUseNeverShareAPlace) {
  for (uint32_t window : {1u, 63u, 64u, 65u, 200u})
    for (uint32_t sinks : {0u, 3u, 64u, 130u})
      for (uint32_t chunk : {1u, 17u, 64u}) {
        moert_kv_window made = moert_make_kv_window(2048, window, sinks, chunk);
        int64_t most = moert_kv_num_blocks(&made, 2048);
        for (int64_t position = 0; position + chunk <= 2048; ++position) {
          std::set<int64_t> blocks, places;
          for (int64_t q = 0; q < sinks && q < position + chunk; ++q)
            blocks.insert(q / 64);
          for (int64_t q = std::max<int64_t>(position - window + 1, 0); q < position + chunk; ++q)
            blocks.insert(q / 64);
          for (int64_t block : blocks) {
            places.insert(moert_kv_physical_block(&made, block));
            ASSERT_LT(moert_kv_physical_block(&made, block), most);
          }
          ASSERT_EQ(blocks.size(), places.size()) << window << " " << sinks << " " << chunk << " " << position;
        }
      }
}
