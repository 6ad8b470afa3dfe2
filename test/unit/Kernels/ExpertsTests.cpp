// SPDX-License-Identifier: Apache-2.0
/// \file
/// Expert kernels equal plain loops, byte for byte, on every instruction level: gate|up with silu and quantization, and
/// down, for scattered pairs. Main source: docs/architecture.md.
#include "test/unit/Kernels/Products.h"

#include <gtest/gtest.h>

using namespace moec;

namespace {

constexpr int64_t kTokens = 14, kTopK = 3;
const std::vector<int32_t> kPairs{1, 5, 6, 9, 14, 17, 19, 22, 25, 29, 30, 34, 38, 39}; // one for each token

struct Case {
  Encoding gate, up, down;
  int64_t hidden, inner;
  /// Gate and up of one encoding.
  Case(Encoding both, Encoding down, int64_t hidden, int64_t inner) : Case(both, both, down, hidden, inner) {}
  Case(Encoding gate, Encoding up, Encoding down, int64_t hidden, int64_t inner)
      : gate(gate), up(up), down(down), hidden(hidden), inner(inner) {}
};

ExpertsSpec specOf(const Case &shape, LayoutFamily family) {
  auto align = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  ExpertsSpec spec;
  spec.gate = {shape.inner, shape.hidden, shape.gate, 0};
  spec.up = {shape.inner, shape.hidden, shape.up, align(spec.gate.layout(family).totalBytes())};
  spec.down = {shape.hidden, shape.inner, shape.down, spec.up.offsetBytes + align(spec.up.layout(family).totalBytes())};
  spec.recordBytes = spec.down.offsetBytes + spec.down.layout(family).totalBytes();
  spec.topK = kTopK;
  spec.maxTokens = kTokens;
  return spec;
}

/// The same rows in the form that `spec` multiplies.
Activations inFormOf(const MatrixSpec &spec, Activations rows) {
  rows.group = spec.encoding.isInteger() ? spec.encoding.group : spec.columns;
  quantize(rows);
  return rows;
}

/// h of the given pairs from `x`, and `xUp` for up; rows of other pairs stay zero.
Activations expectedHidden(const Matrix &gate, const Matrix &up, const Activations &x, const Activations &xUp,
                           const ExpertsSpec &spec, int64_t count) {
  int64_t inner = spec.gate.rows;
  Activations h{spec.maxPairs(), inner, spec.columnsPerTile(), std::vector<float>(spec.maxPairs() * inner), {}, {}, {}};
  for (int64_t i = 0; i < count; ++i)
    for (int64_t r = 0; r < inner; ++r) {
      float g = product(gate, x, kPairs[i] / kTopK, r);
      h.floats[kPairs[i] * inner + r] = g / (1.0f + expectedExp(-g)) * product(up, xUp, kPairs[i] / kTopK, r);
    }
  if (spec.down.encoding.isInteger())
    quantize(h);
  return h;
}

class ExpertsKernel : public testing::TestWithParam<std::tuple<Isa, Case>> {};

TEST_P(ExpertsKernel, EqualsPlainLoops) {
  auto [isa, shape] = GetParam();
  ExpertsSpec spec = specOf(shape, familyOf(isa));
  ASSERT_EQ(llvm::toString(check(spec, familyOf(isa))), "");
  CompiledKernel gateUp(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildExpertsGateUp(context, module, "kernel", spec); });
  CompiledKernel down(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildExpertsDown(context, module, "kernel", spec); });
  if (!gateUp.unavailable().empty())
    GTEST_SKIP() << gateUp.unavailable();
  std::mt19937 random(2);
  Matrix gate = randomMatrix(spec.gate, random), up = randomMatrix(spec.up, random);
  Matrix downMatrix = randomMatrix(spec.down, random);
  // Codes limit what values may be: see there.
  Activations x = randomActivations(kTokens, spec.gate.encoding.isInteger() ? spec.gate : spec.up, random);
  Activations xUp = inFormOf(spec.up, x);
  x = inFormOf(spec.gate, x);
  Buffer record;
  for (const Matrix *matrix : {&gate, &up, &downMatrix})
    store(*matrix, familyOf(isa), record);
  std::vector<int64_t> counts{1, 3, 10};
  if (familyOf(isa) == LayoutFamily::X86)
    counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  for (int64_t m : counts) {
    Activations h = expectedHidden(gate, up, x, xUp, spec, m);
    std::vector<Buffer> buffers{record, bytesOf(kPairs)}, expected;
    appendRows(buffers, x, spec.gate);
    if (spec.hasOwnUpRows())
      appendRows(buffers, xUp, spec.up);
    size_t firstOutput = buffers.size();
    appendRows(expected, h, spec.down);
    for (const Buffer &buffer : expected)
      buffers.emplace_back(buffer.size(), 0);
    int64_t tiles = spec.numGateUpTiles();
    ASSERT_EQ(gateUp.run(buffers, {m, tiles / 2, tiles}), "");
    ASSERT_EQ(gateUp.run(buffers, {m, 0, tiles / 2}), "");
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(buffers[firstOutput + i] == expected[i]) << "output " << i << " of gate|up, m = " << m;

    std::vector<float> y(spec.maxPairs() * shape.hidden);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t r = 0; r < shape.hidden; ++r)
        y[kPairs[i] * shape.hidden + r] = product(downMatrix, h, kPairs[i], r);
    std::vector<Buffer> downBuffers{record, bytesOf(kPairs)};
    appendRows(downBuffers, h, spec.down);
    downBuffers.emplace_back(y.size() * 4, 0);
    ASSERT_EQ(down.run(downBuffers, {m, 0, spec.numDownTiles()}), "");
    ASSERT_TRUE(downBuffers.back() == bytesOf(y)) << "down, m = " << m;
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Isa, Case>> &info) {
  auto [isa, shape] = info.param;
  std::string up = shape.up == shape.gate ? "" : identifierOf(shape.up) + "_";
  return levelName(isa) + "_" + identifierOf(shape.gate) + "_" + up + identifierOf(shape.down);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpertsKernel,
    testing::Combine(testing::ValuesIn(allLevels()),
                     testing::Values(Case{Encoding::f32(), Encoding::f32(), 40, 50},
                                     Case{Encoding::f16(), Encoding::f16(), 40, 50},
                                     Case{Encoding::f16(), Encoding::f32(), 40, 50},
                                     Case{Encoding::i8(32), Encoding::i8(32), 64, 96},
                                     Case{Encoding::i4(128), Encoding::i4(128), 256, 128},
                                     Case{Encoding::i4(64), Encoding::i8(64), 64, 128},
                                     Case{Encoding::i6(32), Encoding::i6(64), 64, 128},
                                     Case{Encoding::i8m(32), Encoding::i6(32), 64, 96},
                                     Case{Encoding::i4m(64), Encoding::i4m(128), 64, 128},
                                     // Blocks of 16 rows and 8, x as floats and codes.
                                     Case{Encoding::f16(), Encoding::i4(32), Encoding::i4m(64), 64, 128},
                                     Case{Encoding::i8(64), Encoding::f32(), Encoding::f32(), 64, 50},
                                     // Codes of other groups; of the same ones in other orders.
                                     Case{Encoding::i4(32), Encoding::i8(64), Encoding::i8(128), 128, 128},
                                     Case{Encoding::i6(32), Encoding::i8m(32), Encoding::f32(), 64, 100})),
    nameOf);

TEST(ExpertsSpec, RefusesMatricesOutsideTheRecord) {
  ExpertsSpec spec = specOf({Encoding::i8(32), Encoding::i8(32), 64, 64}, LayoutFamily::X86);
  spec.recordBytes -= 1;
  // 64 x 64 codes and 64 x 2 half scales: 4352 bytes each.
  EXPECT_EQ(llvm::toString(check(spec, LayoutFamily::X86)),
            "down expects a multiple of 64 as offset and its end inside the record of 13055 bytes, but got bytes 8704 "
            "to 13056");
}

} // namespace
