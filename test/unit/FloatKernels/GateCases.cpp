// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gated linear units and gates, stored or quantized, equal plain loops.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/Runner.h"

namespace {

constexpr int64_t kTokens = 5;

/// What a kernel makes of rows: floats, or codes with scales and sums.
struct Result {
  std::vector<float> floats;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;

  Result(int64_t columns, int64_t group)
      : floats((size_t)(kMaxTokens * columns)), codes(floats.size()), scales(group ? floats.size() / group : 0),
        sums(scales.size()) {}
};

void compare(Runner &runner, const Result &got, const Result &expected, int64_t group) {
  if (group == 0)
    return runner.expectSame("y", got.floats, expected.floats);
  runner.expectSame("codes", got.codes, expected.codes);
  runner.expectSame("scales", got.scales, expected.scales);
  runner.expectSame("sums", got.sums, expected.sums);
}

/// Quantizes the rows that were computed, where the kernel does.
void finish(Result &expected, int64_t columns, int64_t group) {
  if (group)
    expectedQuantize(expected.floats.data(), expected.codes.data(), expected.scales.data(), expected.sums.data(),
                     kTokens * columns, group);
}

/// Values whose exponentials overflow and vanish are among them.
std::vector<float> gateValues(Random &random, int64_t count) {
  std::vector<float> g = random.values(count, 8.0f);
  g[0] = 120.0f;
  if (count > 1)
    g[1] = -120.0f;
  return g;
}

void runGlu(const char *name, KernelFunction kernel, int64_t columns, int64_t group) {
  Runner runner(name);
  Random random(5);
  std::vector<float> gate = gateValues(random, kMaxTokens * columns), up = random.values(kMaxTokens * columns);
  Result got(columns, group), expected(columns, group);
  for (int64_t i = 0; i < kTokens * columns; ++i)
    expected.floats[i] = expectedSilu(gate[i]) * up[i];
  finish(expected, columns, group);
  if (group)
    call(kernel, kTokens, 0, 0, kTokens, gate.data(), up.data(), got.codes.data(), got.scales.data(), got.sums.data());
  else
    call(kernel, kTokens, 0, 0, kTokens, gate.data(), up.data(), got.floats.data());
  compare(runner, got, expected, group);
}

enum class Activation { silu, sigmoid };

void runGate(const char *name, KernelFunction kernel, int64_t columns, bool isPerToken, Activation activation,
             bool hasResidual, int64_t group) {
  Runner runner(name);
  Random random(6);
  std::vector<float> x = random.values(kMaxTokens * columns), residual = random.values(kMaxTokens * columns);
  std::vector<float> g = gateValues(random, isPerToken ? kMaxTokens : kMaxTokens * columns);
  Result got(columns, group), expected(columns, group);
  for (int64_t i = 0; i < kTokens * columns; ++i) {
    float value = g[isPerToken ? i / columns : i];
    float y = x[i] * (activation == Activation::silu ? expectedSilu(value) : expectedSigmoid(value));
    expected.floats[i] = hasResidual ? residual[i] + y : y;
  }
  finish(expected, columns, group);
  if (group) {
    call(kernel, kTokens, 0, 0, kTokens, x.data(), g.data(), got.codes.data(), got.scales.data(), got.sums.data());
  } else if (hasResidual) { // in place, as in a plan
    got.floats = residual;
    for (int64_t i = kTokens * columns; i < kMaxTokens * columns; ++i)
      expected.floats[i] = residual[i];
    call(kernel, kTokens, 0, 0, kTokens, x.data(), g.data(), got.floats.data(), got.floats.data());
  } else {
    call(kernel, kTokens, 0, 0, kTokens, x.data(), g.data(), got.floats.data());
  }
  compare(runner, got, expected, group);
}

} // namespace

#define DECLARE(name, ...) extern "C" void name();
GLU_KERNELS(DECLARE)
GATE_KERNELS(DECLARE)

void runGateCases() {
#define GLU(name, ...) runGlu(#name, name, __VA_ARGS__);
  GLU_KERNELS(GLU)
#define GATE(name, columns, isPerToken, activation, hasResidual, group)                                                \
  runGate(#name, name, columns, isPerToken, Activation::activation, hasResidual, group);
  GATE_KERNELS(GATE)
}
