// SPDX-License-Identifier: Apache-2.0
/// \file
/// The layouts are bijective, fill their record exactly, and packing agrees with the address function.
#include "lib/Pack/TilePacker.h"

#include "llvm/Support/Endian.h"

#include "gtest/gtest.h"

#include <random>
#include <vector>

using namespace moec;

namespace {

struct Case {
  LayoutFamily family;
  int64_t rows, cols;
  Encoding encoding;
};

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (LayoutFamily family : {LayoutFamily::Arm64, LayoutFamily::X86})
    for (int64_t rows : {1, 7, 8, 9, 16, 17, 40}) {
      cases.push_back({family, rows, 5, Encoding::f32()});
      cases.push_back({family, rows, 5, Encoding::f16()});
      for (int64_t group : {32, 64, 128})
        for (Encoding encoding : {Encoding::i8(group), Encoding::i6(group), Encoding::i4(group), Encoding::i8m(group),
                                  Encoding::i4m(group)})
          cases.push_back({family, rows, 3 * group, encoding});
    }
  return cases;
}

Layout layoutOf(const Case &c) { return cantFail(Layout::create(c.family, c.rows, c.cols, c.encoding, "w")); }

} // namespace

TEST(LayoutTest, EveryBitBelongsToExactlyOneValue) {
  for (const Case &c : allCases()) {
    Layout layout = layoutOf(c);
    // Bits taken of each byte.
    std::vector<uint8_t> taken(layout.totalBytes(), 0);
    auto take = [&](int64_t offset, uint8_t bits) {
      ASSERT_GE(offset, 0);
      ASSERT_LT(offset, layout.totalBytes());
      ASSERT_EQ(taken[offset] & bits, 0) << nameOf(c.encoding) << " offset " << offset;
      taken[offset] |= bits;
    };
    for (int64_t row = 0; row < layout.numRowTiles() * layout.rowTile(); ++row) {
      for (int64_t k = 0; k < c.cols; ++k) {
        CodeLocation at = layout.locate(row, k);
        if (c.encoding.bits() < 8)
          take(at.byteOffset, 0xf << at.shift);
        if (c.encoding.bits() == 6)
          take(at.highOffset, 3 << at.highShift);
        for (int i = 0; i < c.encoding.bits() / 8; ++i)
          take(at.byteOffset + i, 0xff);
      }
      for (int64_t g = 0; g < layout.numGroups(); ++g) {
        take(layout.scaleOffset(row, g), 0xff);
        take(layout.scaleOffset(row, g) + 1, 0xff);
        if (!c.encoding.minimum)
          continue;
        take(layout.minimumOffset(row, g), 0xff);
        take(layout.minimumOffset(row, g) + 1, 0xff);
      }
    }
    for (int64_t i = 0; i < layout.totalBytes(); ++i)
      ASSERT_EQ(taken[i], 0xff) << nameOf(c.encoding) << " offset " << i;
  }
}

TEST(LayoutTest, PackedRowsUnpackToTheSameCodesAndScales) {
  std::mt19937 random(7);
  for (const Case &c : allCases()) {
    if (!c.encoding.isInteger())
      continue;
    Layout layout = layoutOf(c);
    TilePacker packer(layout);
    int numCodes = c.encoding.maxCode() - c.encoding.minCode() + 1;
    int64_t groups = c.encoding.numScales(c.cols), tileRows = layout.rowTile();
    std::vector<int8_t> codes(c.rows * c.cols);
    std::vector<uint16_t> scales(c.rows * groups);
    for (int8_t &code : codes)
      code = static_cast<int8_t>(int(random() % numCodes) + c.encoding.minCode());
    for (uint16_t &scale : scales)
      scale = static_cast<uint16_t>(random());
    std::vector<uint8_t> bytes(layout.totalBytes(), 0xaa);
    for (int64_t tile = 0; tile < layout.numRowTiles(); ++tile) {
      int64_t first = tile * tileRows, n = std::min(tileRows, c.rows - first);
      packer.pack(tile, llvm::ArrayRef(codes).slice(first * c.cols, n * c.cols),
                  llvm::ArrayRef(scales).slice(first * groups, n * groups),
                  llvm::MutableArrayRef(bytes).slice(tile * layout.tileBytes(), layout.tileBytes()));
    }
    std::vector<int8_t> rowCodes(c.cols);
    std::vector<uint16_t> rowScales(groups);
    for (int64_t row = 0; row < layout.numRowTiles() * tileRows; ++row) {
      layout.unpackRow(bytes, row, rowCodes, rowScales);
      for (int64_t k = 0; k < c.cols; ++k) {
        int expected = row < c.rows ? codes[row * c.cols + k] : 0;
        ASSERT_EQ(rowCodes[k], expected) << nameOf(c.encoding) << " row " << row << " k " << k;
        CodeLocation at = layout.locate(row, k);
        int stored = bytes[at.byteOffset];
        int shown = c.encoding.bits() < 8 ? stored >> at.shift & 0xf : stored;
        if (c.encoding.bits() == 6)
          shown |= (bytes[at.highOffset] >> at.highShift & 3) << 4;
        ASSERT_EQ(shown, (expected + layout.codeBias(row)) & ((1 << c.encoding.bits()) - 1));
      }
      for (int64_t g = 0; g < groups; ++g)
        ASSERT_EQ(rowScales[g], row < c.rows ? scales[row * groups + g] : 0);
    }
  }
}

TEST(LayoutTest, FloatRowsRoundTripWithZeroPadding) {
  for (Encoding encoding : {Encoding::f32(), Encoding::f16()}) {
    Layout layout = layoutOf({LayoutFamily::Arm64, 17, 5, encoding});
    TilePacker packer(layout);
    int64_t tile = 5 * 16 * encoding.bits() / 8;
    ASSERT_EQ(layout.totalBytes(), 2 * tile);
    std::vector<float> values(17 * 5);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i) + 0.5f; // exact in f16
    std::vector<uint8_t> bytes(layout.totalBytes(), 0xaa);
    packer.pack(0, llvm::ArrayRef(values).take_front(80), llvm::MutableArrayRef(bytes).take_front(tile));
    packer.pack(1, llvm::ArrayRef(values).drop_front(80), llvm::MutableArrayRef(bytes).drop_front(tile));
    std::vector<float> row(5);
    for (int64_t r = 0; r < 32; ++r) {
      layout.unpackRow(bytes, r, row);
      for (int64_t k = 0; k < 5; ++k)
        EXPECT_EQ(row[k], r < 17 ? values[r * 5 + k] : 0.0f);
    }
  }
}

TEST(LayoutTest, OffsetsAreThoseOfTheFormat) {
  // arm64 i4, K = 64, G = 32: B = 4 * 32 + 16 = 144. Row 11, k 45: tile 1, group 1, chunk c = (45 % 32) / 8 = 1, pair
  // p = 11 % 4 / 2 = 1, (1 * 2 + 1) * 144 + (1 * 4 + 1) * 16 + 1 * 8 + 5 = 432 + 93 = 525, low half, plus 8. Row 15 is
  // the other half of the byte.
  Layout arm = layoutOf({LayoutFamily::Arm64, 16, 64, Encoding::i4(32)});
  EXPECT_EQ(arm.blockBytes(), 144);
  EXPECT_EQ(std::tuple(arm.locate(11, 45).byteOffset, arm.locate(11, 45).shift, arm.codeBias(11)),
            std::tuple(525, 0, 8));
  EXPECT_EQ(std::tuple(arm.locate(15, 45).byteOffset, arm.locate(15, 45).shift, arm.codeBias(15)),
            std::tuple(525, 4, 0));
  EXPECT_EQ(arm.scaleOffset(11, 1), 432 + 128 + 3 * 2);
  // x86 i8, K = 64, G = 32: B = 16 * 32 + 32 = 544. Row 18, k 45: tile 1, group 1, word 3,
  // (1 * 2 + 1) * 544 + 3 * 64 + 2 * 4 + 1 = 1632 + 201 = 1833.
  Layout x86 = layoutOf({LayoutFamily::X86, 32, 64, Encoding::i8(32)});
  EXPECT_EQ(x86.blockBytes(), 544);
  EXPECT_EQ(x86.locate(18, 45).byteOffset, 1833);
  EXPECT_EQ(x86.scaleOffset(18, 1), 1632 + 512 + 2 * 2);
  EXPECT_EQ(x86.codeBias(), 128);
  // arm64 i6, K = 128, G = 64: B = 6 * 64 + 16 = 400. Row 11, k 109: tile 1, group 1, slice 1 of 192 bytes, chunk
  // (109 % 32) / 8 = 1, pair 1: (1 * 2 + 1) * 400 + 192 + (0 * 4 + 1) * 16 + 8 + 5 = 1421, high half; high bits behind
  // the 128 bytes of low halves: 1392 + 128 + 1 * 16 + 8 + 5 = 1549, bits 2 and 3.
  CodeLocation six = layoutOf({LayoutFamily::Arm64, 16, 128, Encoding::i6(64)}).locate(11, 109);
  EXPECT_EQ(std::tuple(six.byteOffset, six.shift, six.highOffset, six.highShift), std::tuple(1421, 4, 1549, 2));
  // x86 i6: B = 12 * 64 + 32 = 800. Row 18, k 109: word 3 of slice 1 of 384 bytes: (1 * 2 + 1) * 800 + 384 + 64 + 2 * 4
  // + 1 = 2857, high half; high bits behind the 256 bytes of low halves: 2784 + 256 + 0 * 64 + 9 = 3049, bits 6 and 7.
  CodeLocation wide = layoutOf({LayoutFamily::X86, 32, 128, Encoding::i6(64)}).locate(18, 109);
  EXPECT_EQ(std::tuple(wide.byteOffset, wide.shift, wide.highOffset, wide.highShift), std::tuple(2857, 4, 3049, 6));
  // x86 i4 with a minimum: B = 8 * 32 + 64 = 320; minima behind the 32 bytes of scales.
  Layout minimum = layoutOf({LayoutFamily::X86, 32, 64, Encoding::i4m(32)});
  EXPECT_EQ(minimum.scaleOffset(18, 1), 3 * 320 + 256 + 2 * 2);
  EXPECT_EQ(minimum.minimumOffset(18, 1), 3 * 320 + 256 + 32 + 2 * 2);
}

TEST(LayoutTest, RefusesGroupsThatDoNotDivide) {
  auto layout = Layout::create(LayoutFamily::X86, 4, 96, Encoding::i4(64), "model.w");
  EXPECT_EQ(llvm::toString(layout.takeError()),
            "'model.w' has 96 columns, which group 64 does not divide; choose a group that does, or f16");
}
