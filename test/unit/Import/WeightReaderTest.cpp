// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of weights come out exact from every type, over the borders of pieces, and never from outside the weight.
#include "lib/Import/WeightReader.h"
#include "lib/Support/Half.h"
#include "test/unit/Support/TestFolder.h"

#include "llvm/Support/Endian.h"

using namespace moec;
using namespace moec::test;

TEST(WeightReader, ConvertsEveryType) {
  TestFolder folder;
  std::string path = folder.write("w", llvm::StringRef("\0\0\x80\x3F\0\0\0\xC0", 8));
  EXPECT_EQ(llvm::cantFail(readWeight(path, TensorType::F32, 0, 1, 2)), (std::vector<float>{1, -2}));
  EXPECT_EQ(llvm::cantFail(readWeight(path, TensorType::BF16, 0, 2, 2)), (std::vector<float>{0, 1, 0, -2}));
  EXPECT_EQ(llvm::cantFail(readWeight(path, TensorType::F16, 6, 1, 1)), std::vector<float>{-2});
  EXPECT_TRUE(contains(errorText(readWeight(path, TensorType::I32, 0, 1, 2)), "cannot read weights of dtype I32"));
}

TEST(WeightReader, ReadsRowsOverPieces) {
  constexpr uint64_t kRows = 700, kColumns = 3000; // 4.2 MB; pieces are 1 MiB and end inside rows
  std::string data(10, 'x');
  for (uint64_t i = 0; i < kRows * kColumns; ++i) {
    uint16_t bits = static_cast<uint16_t>(i * 40503 >> 3) & 0xBFFF; // no infinities or NaNs
    data.append({static_cast<char>(bits), static_cast<char>(bits >> 8)});
  }
  TestFolder folder;
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(folder.write("w", data));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  WeightSource source{&*file, TensorType::BF16, 10, kRows, kColumns};
  std::vector<float> rows(600 * kColumns);
  ASSERT_EQ(errorText(readWeightRows(source, 50, 600, rows)), "no error");
  for (uint64_t i = 0; i < rows.size(); ++i) {
    uint64_t at = 10 + 2 * (50 * kColumns + i);
    ASSERT_EQ(rows[i], bf16ToF32(llvm::support::endian::read16le(data.data() + at)));
  }
}

TEST(WeightReader, RefusesRowsOutside) {
  TestFolder folder;
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(folder.write("w", "12345678"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  std::vector<float> out(2);
  WeightSource source{&*file, TensorType::BF16, 0, 2, 2};
  EXPECT_TRUE(contains(errorText(readWeightRows(source, 2, 1, out)), "are outside a weight of 2 rows"));
  EXPECT_TRUE(contains(errorText(readWeightRows(source, UINT64_MAX, 2, out)), "are outside a weight of 2 rows"));
  EXPECT_TRUE(contains(errorText(readWeightRows(source, 0, 2, out)), "4 values do not fit 2"));
  WeightSource longer{&*file, TensorType::BF16, 0, 9, 2};
  EXPECT_TRUE(contains(errorText(readWeightRows(longer, 8, 1, out)), "is truncated: found 0 bytes at offset 32"));
  WeightSource huge{&*file, TensorType::F32, 0, UINT64_MAX, UINT64_MAX};
  EXPECT_TRUE(contains(errorText(readWeightRows(huge, 5, 1, out)), "is 2^64 bytes or more"));
  EXPECT_TRUE(contains(errorText(readWeight(file->path(), TensorType::F32, 0, 1 << 20, 1 << 20)), "too few for"));
}

TEST(WeightReader, ReadsCodesAndScalesOfRows) {
  std::string row = std::string("\x00\x3C\x00\xC0", 4) + std::string(16, '\x80'); // d 1, m -2, codes 0 and 8
  TestFolder folder;
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(folder.write("w", "x" + row + row + row));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  WeightSource source{&*file, TensorType::Q4_1, 1, 3, 32};
  std::vector<int8_t> codes(64);
  std::vector<uint16_t> scales(4);
  ASSERT_EQ(errorText(readWeightCodes(source, 1, 2, codes, scales)), "no error");
  EXPECT_EQ(scales, (std::vector<uint16_t>{0x3C00, 0x4600, 0x3C00, 0x4600})); // minimum -2 + 8 * 1
  EXPECT_EQ(codes[0], -8);
  EXPECT_EQ(codes[31], 0);
  scales.pop_back();
  EXPECT_TRUE(contains(errorText(readWeightCodes(source, 1, 2, codes, scales)), "4 scales do not fit 3"));
  EXPECT_TRUE(contains(errorText(readWeightCodes(source, 2, 2, codes, scales)), "are outside a weight of 3 rows"));
  WeightSource narrow{&*file, TensorType::Q4_1, 1, 3, 16}, other{&*file, TensorType::BF16, 1, 3, 32};
  EXPECT_TRUE(contains(errorText(readWeightCodes(narrow, 0, 1, codes, scales)), "is not in whole blocks of 32"));
  EXPECT_TRUE(contains(errorText(readWeightCodes(other, 0, 1, codes, scales)), "dtype BF16 have no codes to keep"));
}
