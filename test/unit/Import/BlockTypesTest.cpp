// SPDX-License-Identifier: Apache-2.0
/// \file
/// Blocks of every type give the values that the Python package gguf 0.17.1 computes (`quants.dequantize`), bit for
/// bit.
#include "lib/Import/BlockTypes.h"
#include "lib/Quant/Quantize.h"
#include "lib/Quant/SourceEncoding.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <bit>
#include <vector>

using namespace moec;

namespace {

/// FNV-1a of the values' bytes, and some of the values.
struct Golden {
  TensorType type;
  const char *block; // in hexadecimal digits, all codes at random
  uint64_t hash;
  std::vector<std::pair<size_t, uint32_t>> bits;
};

uint64_t hashOf(llvm::ArrayRef<float> values) {
  uint64_t hash = 14695981039346656037u;
  for (float value : values)
    for (unsigned shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (std::bit_cast<uint32_t>(value) >> shift & 255)) * 1099511628211u;
  return hash;
}

const Golden kGoldens[] = {
    {TensorType::Q8_0,
     "14a5e5f1a94106a0956a26afbccdafe562f90a945f5693c642276ad5ab2da7394551",
     0x6e6532fb5461d4d3,
     {{0, 0x3F091C00}, {15, 0x3E0E3000}, {16, 0xBE4B2000}, {31, 0xBFCDAA00}}},
    {TensorType::Q4_0,
     "0aa1d74c70aca1e926115901dd06f27f8f06",
     0x57bacd6afdb186a4,
     {{0, 0x3C214000}, {15, 0x3CA14000}, {16, 0xBD499000}, {31, 0x3DA14000}}},
    {TensorType::Q4_1,
     "51180aafc795ca7748dc03d17a88934d85527357",
     0x0fa9e863ea985095,
     {{0, 0xBDC30900}, {15, 0xBDC30900}, {16, 0xBDAD7400}, {31, 0xBDCBAB00}}},
    {TensorType::Q6_K,
     "a2e6464792c58efd5185f0711ef7677a1f132a818d882195a100b28d6b236b82481bd9fe630dc3ce3be4ebcab72f45b3"
     "5223479f6e794d57037e2cfde9e15a7789781e3721a557d8e5a703296dcb81db3f65cf9c1bdc5d1d8fc83f0b0bb4db71"
     "be572209851d3d24f4c0cf83fe4363f82f4759778955f6ced681cbea7179ced2c8f814a13472ff70ce369d8385452a44"
     "f318337f08cd1e614f235d3f83bc45fee9ee0403a79be118544441317c9311f85e0429b19f7ec0e156f65a3322e791b8"
     "80ee995e3f0d307d2fbaf400693a179efaa1",
     0x5aeb05a76969169b,
     {{0, 0xC2334C00},
      {15, 0xC2037C00},
      {16, 0x40D06EC0},
      {31, 0x3ED72800},
      {32, 0x4119E580},
      {100, 0x41691600},
      {127, 0xC2063D3C},
      {128, 0x4075C940},
      {255, 0x416DF120}}},
};

} // namespace

TEST(BlockTypes, GiveTheValuesOfTheFormat) {
  for (const Golden &golden : kGoldens) {
    TypeBlock block = tensorTypeBlock(golden.type);
    std::string bytes = llvm::fromHex(golden.block);
    ASSERT_EQ(bytes.size(), block.bytes);
    bytes += bytes; // two blocks
    std::vector<float> values(2 * block.values);
    dequantizeBlocks(golden.type, reinterpret_cast<const uint8_t *>(bytes.data()), values);
    for (auto [index, bits] : golden.bits) {
      EXPECT_EQ(std::bit_cast<uint32_t>(values[index]), bits) << tensorTypeName(golden.type).str() << " " << index;
      EXPECT_EQ(std::bit_cast<uint32_t>(values[block.values + index]), bits);
    }
    EXPECT_EQ(hashOf(llvm::ArrayRef(values).take_front(block.values)), golden.hash);
  }
}

TEST(BlockTypes, UnpackGivesTheSameValues) {
  for (const Golden &golden : kGoldens) {
    if (golden.type == TensorType::Q6_K)
      continue; // has no codes that are kept
    std::string bytes = llvm::fromHex(golden.block);
    const uint8_t *block = reinterpret_cast<const uint8_t *>(bytes.data());
    std::vector<float> values(32), unpacked(32);
    dequantizeBlocks(golden.type, block, values);
    std::vector<int8_t> codes(32);
    uint16_t scale = 0, minimum = 0;
    bool hasMinimum = golden.type == TensorType::Q4_1;
    unpackBlocks(golden.type, block, codes, scale, llvm::MutableArrayRef(minimum).take_front(hasMinimum));
    EXPECT_EQ(scale, static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1]) << 8);
    // Counted from the middle the minimum, near -0.127, is rounded once more: by half a unit of 2^-13 at most.
    dequantizeRow(codes, hasMinimum ? std::vector<uint16_t>{scale, minimum} : std::vector<uint16_t>{scale},
                  sourceEncodingOf(tensorTypeName(golden.type).lower()).encoding, unpacked);
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_NEAR(unpacked[i], values[i], hasMinimum ? 0x1p-14 : 0) << tensorTypeName(golden.type).str() << " " << i;
  }
}
