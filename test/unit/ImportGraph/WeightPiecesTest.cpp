// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading of weights whose source is in pieces: rows across their ends, vectors, matrices of a stack, and pieces that
/// do not fit their file.
#include "lib/Import/WeightPieces.h"
#include "test/unit/Support/TestFolder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace moec;
using namespace moec::test;
using namespace mlir;

namespace {

class WeightPiecesTest : public testing::Test {
protected:
  WeightPiecesTest() {
    context.loadDialect<moe::MoeDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    // Two files of 64 values: value i is i, and 100 + i.
    for (float first : {0.0f, 100.0f}) {
      std::vector<float> values(64);
      std::iota(values.begin(), values.end(), first);
      std::string path = folder.write("weights" + std::to_string(int(first)),
                                      std::string(reinterpret_cast<const char *>(values.data()), 256));
      files.push_back({std::make_unique<RandomAccessFile>(llvm::cantFail(RandomAccessFile::open(path))), {}, 256});
    }
    files.push_back({nullptr, RandomKind(7), 4096});
  }

  moe::WeightOp weight(ArrayRef<int64_t> shape, ArrayRef<int64_t> fileNumbers, ArrayRef<int64_t> offsets,
                       StringRef name = "w") {
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    auto source =
        moe::SourceAttr::get(&context, builder.getStringAttr("f32"), fileNumbers, offsets, builder.getStringAttr(name));
    return moe::WeightOp::create(builder, builder.getUnknownLoc(), builder.getStringAttr("w"),
                                 TypeAttr::get(RankedTensorType::get(shape, builder.getF32Type())),
                                 moe::RoleAttr::get(&context, moe::Role::recurrent), builder.getI64IntegerAttr(-1),
                                 source, moe::RecipeAttr(), Attribute());
  }
  std::vector<float> read(moe::WeightOp weight, int64_t index, uint64_t first, uint64_t count, uint64_t columns) {
    std::vector<float> values(count * columns);
    EXPECT_EQ(errorText(llvm::cantFail(PiecedWeight::create(weight, index, files)).readRows(first, count, values)),
              "no error");
    return values;
  }

  TestFolder folder;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<WeightFile> files;
};

using Values = std::vector<float>;

TEST_F(WeightPiecesTest, RowsGoAcrossPieces) {
  // Rows 0 and 1 at value 4, rows 2 and 3 at value 20 of the other file.
  moe::WeightOp matrix = weight({4, 2}, {0, 1}, {16, 80});
  EXPECT_EQ(read(matrix, 0, 0, 4, 2), (Values{4, 5, 6, 7, 120, 121, 122, 123}));
  EXPECT_EQ(read(matrix, 0, 1, 2, 2), (Values{6, 7, 120, 121}));
  EXPECT_EQ(read(matrix, 0, 3, 1, 2), (Values{122, 123}));
}

TEST_F(WeightPiecesTest, VectorsAreOneRow) {
  EXPECT_EQ(read(weight({4}, {0}, {8}), 0, 0, 1, 4), (Values{2, 3, 4, 5}));
  moe::WeightOp pieces = weight({4}, {0, 1}, {8, 0});
  EXPECT_EQ(read(pieces, 0, 0, 1, 4), (Values{2, 3, 100, 101}));
  Values values(4);
  EXPECT_TRUE(contains(errorText(llvm::cantFail(PiecedWeight::create(pieces, 0, files)).readRows(1, 1, values)),
                       "'w' is a vector"));
}

TEST_F(WeightPiecesTest, MatricesOfAStack) {
  // One piece for each matrix, and one for two of them.
  EXPECT_EQ(read(weight({2, 2, 2}, {0, 1}, {0, 40}), 1, 0, 2, 2), (Values{110, 111, 112, 113}));
  moe::WeightOp halves = weight({4, 1, 2}, {0, 1}, {0, 40});
  EXPECT_EQ(read(halves, 1, 0, 1, 2), (Values{2, 3}));
  EXPECT_EQ(read(halves, 3, 0, 1, 2), (Values{112, 113}));
}

TEST_F(WeightPiecesTest, GeneratedPiecesCountFromTheirTensor) {
  Values whole = read(weight({4, 4}, {2}, {0}, "t.weight"), 0, 0, 4, 4);
  Values rows = read(weight({2, 4}, {2, 2}, {48, 16}, "t.weight:part"), 0, 0, 2, 4);
  EXPECT_EQ(Values(rows.begin(), rows.begin() + 4), Values(whole.begin() + 12, whole.end()));
  EXPECT_EQ(Values(rows.begin() + 4, rows.end()), Values(whole.begin() + 4, whole.begin() + 8));
}

TEST_F(WeightPiecesTest, PiecesThatDoNotFitAreErrors) {
  auto error = [&](moe::WeightOp weight) { return errorText(PiecedWeight::create(weight, 0, files)); };
  EXPECT_TRUE(contains(error(weight({4, 2}, {0, 1}, {0, 248})), "'w' ends behind the 256 bytes of"));
  EXPECT_TRUE(contains(error(weight({4, 2}, {0, 3}, {0, 0})), "'w' lies in file 3, but 'moe.files' has 3"));
  EXPECT_TRUE(contains(error(weight({int64_t(1) << 40, int64_t(1) << 40}, {0}, {0})), "or of 2^64 bytes or more"));
  Values values(2);
  EXPECT_TRUE(contains(
      errorText(llvm::cantFail(PiecedWeight::create(weight({4, 2}, {0}, {0}), 0, files)).readRows(4, 1, values)),
      "'w' has 4 rows, but 1 from row 4 are asked for"));
}

} // namespace
