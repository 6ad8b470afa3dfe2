// SPDX-License-Identifier: Apache-2.0
/// \file
/// Experts of integer weights give the same bits as the products that they are made of.
#include "test/unit/Reference/FunctionFixture.h"

#include "lib/Reference/Numerics.h"

using namespace moec;
using namespace mlir;

namespace {

using ExpertsTest = FunctionTest;

TEST_F(ExpertsTest, QuantizedExpertsEqualTheirProducts) {
  const char *source = R"(
    !w = tensor<2x32x32xf32, #moe.q<scheme = i4, group = 32>>
    !act = tensor<?x32xf32, #moe.act<group = 32>>
    func.func @experts(%x: tensor<?x32xf32>, %v: tensor<?x2xf32>, %ids: tensor<?x2xi32>, %g: !w, %u: !w, %d: !w) ->
        tensor<?x32xf32> {
      %q = moe.quantize_act %x : tensor<?x32xf32> -> !act
      %y = moe.experts %q, %v, %ids, %g, %u, %d {glu = #moe.glu<swiglu>}
          : !act, tensor<?x2xf32>, tensor<?x2xi32>, !w, !w, !w -> tensor<?x32xf32>
      return %y : tensor<?x32xf32>
    })";
  FloatTensor x = waves(3, 32, 0.7f), v = waves(3, 2, 0.9f);
  IntTensor ids{{3, 2}, {1, 0, 0, 1, 1, 0}};
  FloatTensor weights[3] = {waves(64, 32, 0.31f), waves(64, 32, 0.17f), waves(64, 32, 0.23f)};
  for (FloatTensor &w : weights)
    w.shape = {2, 32, 32};
  FloatTensor expected{{3, 32}, std::vector<float>(96)};
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t rank = 0; rank < 2; ++rank) {
      auto matrix = [&](int which) {
        auto values = llvm::ArrayRef(weights[which].values).slice(ids.values[t * 2 + rank] * 1024, 1024);
        return llvm::cantFail(Matrix::create(values, 32, 32, Encoding::i4(32), "w"));
      };
      FloatTensor hidden{{1, 32}, std::vector<float>(32)}, factors = hidden, y = hidden;
      ActTensor q = quantizeActivations({{1, 32}, x.row(t).vec()}, 32);
      matrix(0).multiply(q, hidden.values.data());
      matrix(1).multiply(q, factors.values.data());
      for (int64_t i = 0; i < 32; ++i)
        hidden.values[i] = silu(hidden.values[i]) * factors.values[i];
      matrix(2).multiply(quantizeActivations(hidden, 32), y.values.data());
      for (int64_t i = 0; i < 32; ++i) {
        float &sum = expected.row(t)[i], weight = v.row(t)[rank];
        sum = rank == 0 ? weight * y.values[i] : std::fma(weight, y.values[i], sum);
      }
    }
  std::vector<std::string> result = call(source, "experts", {x, v, ids, weights[0], weights[1], weights[2]});
  ASSERT_EQ(result.size(), 1u);
  auto text = formatValue(expected);
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(result[0], *text);
}

} // namespace
