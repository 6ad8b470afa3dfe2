// SPDX-License-Identifier: Apache-2.0
/// \file
/// Convolution, delta rule and gated norm equal plain loops, as three steps and as one, over calls that carry states.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/Runner.h"

#include <functional>

namespace {

struct Shape {
  int64_t keyHeads, valueHeads, keyDim, valueDim, length;
  bool perChannel, tiled, sigmoid;
  int64_t group;
  int64_t keys() const { return keyHeads * keyDim; }
  int64_t values() const { return valueHeads * valueDim; }
  int64_t rates() const { return perChannel ? valueHeads * keyDim : valueHeads; }
};

using Floats = std::vector<float>;

constexpr int64_t kCalls[] = {1, 2, 3, 5, 64};
constexpr float kEpsilon = 1e-6f, kScale = 0.125f;

float expectedSoftplus(float x) {
  float u = expectedExp(-std::fabs(x)), s = u / (u + 2.0f), square = s * s, sum = 1.0f / 15.0f;
  for (int divisor = 13; divisor >= 3; divisor -= 2)
    sum = std::fma(sum, square, 1.0f / (float)divisor);
  return (x < 0.0f ? 0.0f : x) + std::fma((s + s) * square, sum, s + s);
}

/// Inputs of one call; convolutions, rule and norm overwrite q, k and v.
struct Inputs {
  Floats q, k, v, z, a, b;
  Inputs(const Shape &s, Random &random, int64_t n)
      : q(random.values(kDeltaTokens * s.keys(), 2.0f)), k(random.values(kDeltaTokens * s.keys(), 2.0f)),
        v(random.values(kDeltaTokens * s.values(), 2.0f)), z(random.values(kDeltaTokens * s.values(), 3.0f)),
        a(random.values(kDeltaTokens * s.rates(), 6.0f)), b(random.values(kDeltaTokens * s.valueHeads, 3.0f)) {
    a[0] = n > 1 ? 40.0f : -50.0f; // both ends of softplus
  }
};

struct Weights {
  Floats q, k, v, log, bias, norm; // convolutions as stored
  Weights(const Shape &s, Random &random)
      : q(random.values((s.keys() + 15) / 16 * 16 * s.length)), k(random.values((s.keys() + 15) / 16 * 16 * s.length)),
        v(random.values((s.values() + 15) / 16 * 16 * s.length)), log(random.values(s.valueHeads)),
        bias(random.values(s.rates())), norm(random.values(s.valueDim)) {}
};

struct States {
  Floats q, k, v, memory;
  explicit States(const Shape &s)
      : q((size_t)((s.length - 1) * s.keys())), k(q.size()), v((size_t)((s.length - 1) * s.values())),
        memory((size_t)(s.valueHeads * s.keyDim * s.valueDim)) {}
};

struct Results {
  std::vector<int8_t> codes;
  Floats scales;
  std::vector<int32_t> sums;
  explicit Results(const Shape &s)
      : codes((size_t)(kDeltaTokens * s.values())), scales(s.group ? codes.size() / s.group : 0), sums(scales.size()) {}
};

void expectedConv(Floats &x, const Floats &w, Floats &state, int64_t n, int64_t channels, int64_t length) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t t = 0; t < n; ++t) {
      float current = x[t * channels + c], sum = 0.0f;
      for (int64_t j = 0; j < length; ++j) {
        float value = j + 1 < length ? state[j * channels + c] : current;
        sum = std::fma(w[(c / 16 * length + j) * 16 + c % 16], value, sum);
      }
      for (int64_t j = 0; j + 2 < length; ++j)
        state[j * channels + c] = state[(j + 1) * channels + c];
      state[(length - 2) * channels + c] = current;
      x[t * channels + c] = sum / (1.0f + expectedExp(-sum));
    }
}

Floats expectedUnit(const float *x, int64_t count, float scale) {
  float partials[16] = {};
  for (int64_t i = 0; i < count; ++i)
    partials[i % 16] = std::fma(x[i], x[i], partials[i % 16]);
  float factor = 1.0f / std::sqrt(treeSum(partials) + kEpsilon);
  Floats unit(x, x + count);
  for (float &value : unit)
    value = value * factor * scale;
  return unit;
}

/// Rule and norm of one token and head; o and then y stand in the place of v.
void expectedHead(const Shape &s, const Weights &w, Inputs &in, Floats &memory, int64_t t, int64_t h) {
  int64_t keyHead = s.tiled ? h % s.keyHeads : h / (s.valueHeads / s.keyHeads);
  Floats key = expectedUnit(&in.k[t * s.keys() + keyHead * s.keyDim], s.keyDim, 1.0f);
  Floats query = expectedUnit(&in.q[t * s.keys() + keyHead * s.keyDim], s.keyDim, kScale);
  float beta = 1.0f / (1.0f + expectedExp(-in.b[t * s.valueHeads + h]));
  float *v = &in.v[t * s.values() + h * s.valueDim];
  const float *z = &in.z[t * s.values() + h * s.valueDim];
  Floats decay((size_t)s.keyDim);
  for (int64_t d = 0; d < s.keyDim; ++d) {
    int64_t rate = s.perChannel ? h * s.keyDim + d : h;
    float g = -(expectedExp(w.log[h]) * expectedSoftplus(in.a[t * s.rates() + rate] + w.bias[rate]));
    decay[d] = expectedExp(g);
  }
  for (int64_t c = 0; c < s.valueDim; ++c) {
    float *column = &memory[h * s.keyDim * s.valueDim + c], recalled = 0.0f, output = 0.0f;
    for (int64_t d = 0; d < s.keyDim; ++d) {
      float &value = column[d * s.valueDim];
      value = value * decay[d];
      recalled = std::fma(value, key[d], recalled);
    }
    float delta = beta * (v[c] - recalled);
    for (int64_t d = 0; d < s.keyDim; ++d) {
      float &value = column[d * s.valueDim];
      value = std::fma(key[d], delta, value);
      output = std::fma(value, query[d], output);
    }
    v[c] = output;
  }
  float factor = expectedNormFactor(v, s.valueDim, kEpsilon);
  for (int64_t c = 0; c < s.valueDim; ++c) {
    float divisor = 1.0f + expectedExp(-z[c]);
    v[c] = v[c] * factor * w.norm[c] * (s.sigmoid ? 1.0f / divisor : z[c] / divisor);
  }
}

void expectedCall(const Shape &s, const Weights &w, Inputs &in, States &states, Results &results, int64_t n) {
  expectedConv(in.q, w.q, states.q, n, s.keys(), s.length);
  expectedConv(in.k, w.k, states.k, n, s.keys(), s.length);
  expectedConv(in.v, w.v, states.v, n, s.values(), s.length);
  for (int64_t t = 0; t < n; ++t)
    for (int64_t h = 0; h < s.valueHeads; ++h)
      expectedHead(s, w, in, states.memory, t, h);
  if (s.group)
    expectedQuantize(in.v.data(), results.codes.data(), results.scales.data(), results.sums.data(), n * s.values(),
                     s.group);
}

struct Kernels {
  KernelFunction convKeys, convValues, rule, norm, step;
};

/// Two calls, so that ranges of tiles are tried.
template <class... Pointers> void callTiles(KernelFunction kernel, int64_t n, int64_t tiles, Pointers *...pointers) {
  call(kernel, n, 0, tiles / 2, tiles, pointers...);
  call(kernel, n, 0, 0, tiles / 2, pointers...);
}

void callThree(const Shape &s, const Kernels &kernels, const Weights &w, Inputs &in, States &states, Results &results,
               int64_t n) {
  int64_t keyTiles = (s.keys() + 63) / 64, valueTiles = (s.values() + 63) / 64;
  callTiles(kernels.convKeys, n, keyTiles, in.q.data(), w.q.data(), in.q.data(), states.q.data());
  callTiles(kernels.convKeys, n, keyTiles, in.k.data(), w.k.data(), in.k.data(), states.k.data());
  callTiles(kernels.convValues, n, valueTiles, in.v.data(), w.v.data(), in.v.data(), states.v.data());
  int64_t strips = (s.valueDim + DELTA_STRIP_COLUMNS - 1) / DELTA_STRIP_COLUMNS;
  callTiles(kernels.rule, n, s.valueHeads * strips, in.q.data(), in.k.data(), in.v.data(), in.a.data(), in.b.data(),
            w.log.data(), w.bias.data(), in.v.data(), states.memory.data());
  if (s.group)
    callTiles(kernels.norm, n, n, in.v.data(), in.z.data(), w.norm.data(), results.codes.data(), results.scales.data(),
              results.sums.data());
  else
    callTiles(kernels.norm, n, n, in.v.data(), in.z.data(), w.norm.data(), in.v.data());
}

void callOne(const Shape &s, const Kernels &kernels, const Weights &w, Inputs &in, States &states, Results &results,
             int64_t n) {
  auto run = [&](auto *...result) {
    callTiles(kernels.step, n, s.keyHeads, in.q.data(), in.k.data(), in.v.data(), in.z.data(), in.a.data(), in.b.data(),
              w.q.data(), w.k.data(), w.v.data(), w.log.data(), w.bias.data(), w.norm.data(), result...,
              states.q.data(), states.k.data(), states.v.data(), states.memory.data());
  };
  if (s.group)
    run(results.codes.data(), results.scales.data(), results.sums.data());
  else
    run(in.v.data());
}

/// The sequence of calls, in which `run` stands for the kernels, against plain loops.
void runCalls(const char *name, const Shape &s, const Kernels &kernels, decltype(&callThree) run) {
  Runner runner(name);
  Random random(7);
  Weights weights(s, random);
  States states(s), expectedStates(s);
  for (int64_t n : kCalls) {
    Inputs in(s, random, n), expected = in;
    Results results(s), expectedResults(s);
    run(s, kernels, weights, in, states, results, n);
    expectedCall(s, weights, expected, expectedStates, expectedResults, n);
    if (s.group == 0) {
      in.v.resize((size_t)(n * s.values()));
      expected.v.resize(in.v.size());
      runner.expectSame("y", in.v, expected.v);
    }
    runner.expectSame("codes", results.codes, expectedResults.codes);
    runner.expectSame("scales", results.scales, expectedResults.scales);
    runner.expectSame("sums", results.sums, expectedResults.sums);
    runner.expectSame("q state", states.q, expectedStates.q);
    runner.expectSame("k state", states.k, expectedStates.k);
    runner.expectSame("v state", states.v, expectedStates.v);
    runner.expectSame("state", states.memory, expectedStates.memory);
  }
}

/// softplus as in the kernels against double arithmetic.
void runSoftplus() {
  Runner runner("softplus");
  for (float x = -80.0f; x < 80.0f; x += 0.37f) {
    double exact = x > 30.0f ? x : std::log1p(std::exp((double)x));
    runner.expectNear("softplus", expectedSoftplus(x), exact, 3e-7 * exact);
  }
}

} // namespace

#define DECLARE(name, ...)                                                                                             \
  extern "C" void name##_conv_keys();                                                                                  \
  extern "C" void name##_conv_values();                                                                                \
  extern "C" void name##_rule();                                                                                       \
  extern "C" void name##_norm();                                                                                       \
  extern "C" void name##_step();
DELTA_KERNELS(DECLARE)

void runDeltaCases() {
#define DELTA(name, ...)                                                                                               \
  {                                                                                                                    \
    Kernels kernels{name##_conv_keys, name##_conv_values, name##_rule, name##_norm, name##_step};                      \
    runCalls(#name "_three", Shape{__VA_ARGS__}, kernels, callThree);                                                  \
    runCalls(#name "_one", Shape{__VA_ARGS__}, kernels, callOne);                                                      \
  }
  DELTA_KERNELS(DELTA)
  runSoftplus();
}
