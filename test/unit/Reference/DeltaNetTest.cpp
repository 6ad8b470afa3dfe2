// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gated DeltaNet: the same bits for every cut into chunks, and the fused step equals its composition.
#include "lib/Reference/Interpreter.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace moec;
using namespace mlir;

namespace {

FloatTensor waves(int64_t rowCount, int64_t columns, float step) {
  FloatTensor x{{rowCount, columns}, {}};
  for (int64_t i = 0; i < rowCount * columns; ++i)
    x.values.push_back(std::sin(step * static_cast<float>(i)) * 2.0f);
  return x;
}

FloatTensor rowsOf(const FloatTensor &x, int64_t begin, int64_t end) {
  return {{end - begin, x.rowSize()},
          std::vector<float>(x.values.begin() + begin * x.rowSize(), x.values.begin() + end * x.rowSize())};
}

/// Two key heads of 3, four value heads of 5, windows of 3; `rates` columns of decay. Functions @fused and @plain.
std::string source(int64_t rates, llvm::StringRef headMap) {
  std::string text = R"(
    !k = tensor<?x6xf32>
    !v = tensor<?x20xf32>
    !a = tensor<?xRATESxf32>
    !b = tensor<?x4xf32>
    !rates = tensor<RATESxf32>
    !kw = !moe.state<shape = [2, 6], elem = f32>
    !vw = !moe.state<shape = [2, 20], elem = f32>
    !s = !moe.state<shape = [4, 3, 5], elem = f32>
    func.func @fused(%q: !k, %k: !k, %v: !v, %z: !v, %a: !a, %b: !b, %wq: tensor<6x3xf32>, %wk: tensor<6x3xf32>,
        %wv: tensor<20x3xf32>, %log: tensor<4xf32>, %bias: !rates, %w: tensor<5xf32>,
        %q0: !kw, %k0: !kw, %v0: !vw, %s0: !s) -> (!v, !kw, !kw, !vw, !s) {
      %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %k, %v, %z, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w)
        states(%q0, %k0, %v0, %s0) {eps = 1.0e-6 : f32, l2_eps = 1.0e-5 : f32, scale = 0.57 : f32,
        kind = #moe.activation<silu>, head_map = #moe.head_map<MAP>}
        : !k, !v, !a, !b, tensor<6x3xf32>, tensor<6x3xf32>, tensor<20x3xf32>, tensor<4xf32>, !rates, tensor<5xf32>,
          !kw, !kw, !vw, !s
      return %y, %q1, %k1, %v1, %s1 : !v, !kw, !kw, !vw, !s
    }
    func.func @plain(%q: !k, %k: !k, %v: !v, %z: !v, %a: !a, %b: !b, %wq: tensor<6x3xf32>, %wk: tensor<6x3xf32>,
        %wv: tensor<20x3xf32>, %log: tensor<4xf32>, %bias: !rates, %w: tensor<5xf32>,
        %q0: !kw, %k0: !kw, %v0: !vw, %s0: !s) -> (!v, !kw, !kw, !vw, !s) {
      %cq, %q1 = moe.causal_conv1d %q, %wq, %q0 {kind = #moe.activation<silu>} : !k, tensor<6x3xf32>, !kw
      %ck, %k1 = moe.causal_conv1d %k, %wk, %k0 {kind = #moe.activation<silu>} : !k, tensor<6x3xf32>, !kw
      %cv, %v1 = moe.causal_conv1d %v, %wv, %v0 {kind = #moe.activation<silu>} : !v, tensor<20x3xf32>, !vw
      %qn = moe.l2_norm %cq {block = 3, eps = 1.0e-5 : f32} : !k
      %kn = moe.l2_norm %ck {block = 3, eps = 1.0e-5 : f32} : !k
      %g = moe.decay %a, %log, %bias : !a, tensor<4xf32>, !rates
      %beta = moe.activation %b {kind = #moe.activation<sigmoid>} : !b
      %o, %s1 = moe.delta_rule %qn, %kn, %cv, %g, %beta, %s0 {scale = 0.57 : f32, head_map = #moe.head_map<MAP>}
        : !k, !v, !a, !b, !s
      %y = moe.gated_norm %o, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : !v, tensor<5xf32>
      return %y, %q1, %k1, %v1, %s1 : !v, !kw, !kw, !vw, !s
    })";
  for (auto [from, to] : {std::pair<llvm::StringRef, std::string>("RATES", std::to_string(rates)),
                          std::pair<llvm::StringRef, std::string>("MAP", headMap.str())})
    for (size_t at; (at = text.find(from.str())) != std::string::npos;)
      text.replace(at, from.size(), to);
  return text;
}

class DeltaNetTest : public testing::TestWithParam<std::pair<int64_t, const char *>> {
protected:
  void SetUp() override {
    context.loadDialect<moe::MoeDialect, arith::ArithDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(source(GetParam().first, GetParam().second), &context);
    ASSERT_TRUE(bool(module));
    auto created = Interpreter::create(*module);
    ASSERT_TRUE(bool(created)) << toString(created.takeError());
    interpreter = std::make_unique<Interpreter>(std::move(*created));
  }

  /// y and the final states as text, whose digits are exact, after feeding `tokens` in chunks.
  std::vector<std::string> feed(llvm::StringRef name, int64_t tokens, int64_t chunk) {
    int64_t rates = GetParam().first;
    FloatTensor inputs[] = {waves(tokens, 6, 0.7f),  waves(tokens, 6, 0.9f),      waves(tokens, 20, 1.1f),
                            waves(tokens, 20, 0.3f), waves(tokens, rates, 0.37f), waves(tokens, 4, 1.7f)};
    FloatTensor weights[] = {waves(6, 3, 0.4f),
                             waves(6, 3, 0.6f),
                             waves(20, 3, 0.8f),
                             {{4}, waves(1, 4, 0.9f).values},
                             {{rates}, waves(1, rates, 1.3f).values},
                             {{5}, waves(1, 5, 0.5f).values}};
    auto function = cast<func::FuncOp>(module->lookupSymbol(name));
    std::vector<RuntimeValue> states;
    for (Type type : function.getArgumentTypes().take_back(4))
      states.push_back(llvm::cantFail(makeEmpty(type)));
    FloatTensor y{{0, 20}, {}};
    for (int64_t begin = 0; begin < tokens; begin += chunk) {
      std::vector<RuntimeValue> arguments;
      for (const FloatTensor &x : inputs)
        arguments.push_back(rowsOf(x, begin, std::min(begin + chunk, tokens)));
      arguments.insert(arguments.end(), std::begin(weights), std::end(weights));
      arguments.insert(arguments.end(), states.begin(), states.end());
      auto results = interpreter->call(name, std::move(arguments));
      if (!results) {
        ADD_FAILURE() << toString(results.takeError());
        return {};
      }
      const FloatTensor &rows = std::get<FloatTensor>(results->front());
      y.values.insert(y.values.end(), rows.values.begin(), rows.values.end());
      y.shape[0] += rows.shape[0];
      states.assign(results->begin() + 1, results->end());
    }
    std::vector<std::string> texts{llvm::cantFail(formatValue(y))};
    for (const RuntimeValue &state : states)
      texts.push_back(llvm::cantFail(formatValue(state)));
    return texts;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Interpreter> interpreter;
};

TEST_P(DeltaNetTest, StepEqualsItsCompositionInAnyChunks) {
  std::vector<std::string> whole = feed("plain", 9, 9);
  ASSERT_EQ(whole.size(), 5u);
  EXPECT_EQ(whole[0].find("nan"), std::string::npos);
  for (int64_t chunk : {1, 2, 4, 9}) {
    EXPECT_EQ(feed("plain", 9, chunk), whole) << chunk;
    EXPECT_EQ(feed("fused", 9, chunk), whole) << chunk;
  }
}

INSTANTIATE_TEST_SUITE_P(Decays, DeltaNetTest,
                         testing::Values(std::pair(int64_t(4), "grouped"), std::pair(int64_t(12), "grouped"),
                                         std::pair(int64_t(4), "tiled"), std::pair(int64_t(12), "tiled")));

TEST(DeltaNetSizes, WrongOnesAreErrors) {
  MLIRContext context;
  context.loadDialect<moe::MoeDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @gate(%x: tensor<?x4xf32>, %g: tensor<?x1xf32>) -> tensor<?x4xf32> {
      %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>, tensor<?x1xf32>
      return %y : tensor<?x4xf32>
    }
    func.func @pass(%s: !moe.state<shape = [2], elem = f32>) -> !moe.state<shape = [2], elem = f32> {
      return %s : !moe.state<shape = [2], elem = f32>
    })",
                                            &context);
  ASSERT_TRUE(bool(module));
  auto interpreter = llvm::cantFail(Interpreter::create(*module));
  auto rows = interpreter.call("gate", {waves(2, 4, 1.0f), waves(3, 1, 1.0f)});
  EXPECT_EQ(toString(rows.takeError()), "@gate: 'moe.gate' op expects activations of 2 rows, but got tensor<3x1xf32>");
  auto shape = interpreter.call("pass", {std::make_shared<FloatTensor>(FloatTensor{{3}, {1, 2, 3}})});
  EXPECT_EQ(toString(shape.takeError()),
            "argument 0 of @pass expects !moe.state<shape = [2], elem = f32>, but got state<3xf32>");
  auto half = makeState(moe::StateType::get(&context, {2}, Builder(&context).getF16Type()));
  EXPECT_EQ(toString(half.takeError()), "expects a state of f32 elements");
  auto huge = makeState(moe::StateType::get(&context, {1 << 15, 1 << 15}, Builder(&context).getF32Type()));
  EXPECT_EQ(toString(huge.takeError()), "expects a state of at most 2^28 values, but got 1073741824");
  auto other = makeEmpty(Builder(&context).getIndexType());
  EXPECT_EQ(toString(other.takeError()), "expects a cache or a state, but got index");
}

} // namespace
