// SPDX-License-Identifier: Apache-2.0
/// \file
/// Routers equal plain loops; ties go to the lowest index; NaN logits never lead to an id out of range.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/Runner.h"

namespace {

namespace score {
enum Kind { none, softmax, sigmoid };
}

std::vector<float> expectedScores(const float *logits, int64_t experts, score::Kind kind) {
  std::vector<float> scores(logits, logits + experts);
  if (kind == score::none)
    return scores;
  if (kind == score::sigmoid) {
    for (float &s : scores)
      s = 1.0f / (1.0f + expectedExp(-s));
    return scores;
  }
  float largest = -INFINITY, partials[16] = {};
  for (float s : scores)
    largest = s > largest ? s : largest;
  for (int64_t i = 0; i < experts; ++i) {
    scores[i] = expectedExp(scores[i] - largest);
    partials[i % 16] = partials[i % 16] + scores[i];
  }
  float sum = treeSum(partials);
  for (float &s : scores)
    s = s / sum;
  return scores;
}

/// The first `used` ranks; the others stay as they are.
void expectedSelection(std::vector<float> scores, int64_t used, bool renormalize, float renormEpsilon, float factor,
                       int32_t *ids, float *weights) {
  std::vector<char> taken(scores.size());
  float sum = 0.0f;
  for (int64_t rank = 0; rank < used; ++rank) {
    int64_t best = -1;
    for (int64_t i = 0; i < (int64_t)scores.size(); ++i) {
      if (taken[i])
        continue;
      bool beatsNan = best >= 0 && std::isnan(scores[best]) && !std::isnan(scores[i]);
      if (best < 0 || beatsNan || scores[i] > scores[best])
        best = i;
    }
    taken[best] = 1;
    ids[rank] = (int32_t)best;
    weights[rank] = scores[best];
    sum = sum + scores[best];
  }
  float divisor = renormEpsilon == 0.0f ? sum : sum + renormEpsilon;
  for (int64_t rank = 0; rank < used; ++rank) {
    weights[rank] = renormalize ? weights[rank] / divisor : weights[rank];
    weights[rank] = factor != 1.0f ? weights[rank] * factor : weights[rank];
  }
}

/// All NaNs become one, since their sign and payload are not promised.
void unifyNan(std::vector<float> &values) {
  for (float &x : values)
    x = std::isnan(x) ? NAN : x;
}

void runRouter(const char *name, KernelFunction kernel, int64_t experts, int64_t topK, int64_t used, score::Kind kind,
               bool renormalize, float renormEpsilon, float factor) {
  Runner runner(name);
  Random random(5);
  std::vector<float> logits = random.values(kMaxTokens * experts, 4.0f);
  for (int64_t i = 0; i < experts; ++i) {
    logits[1 * experts + i] = (float)(i % 3); // ties
    logits[2 * experts + i] = NAN;
    logits[3 * experts + i] = i % 2 == 0 ? NAN : logits[3 * experts + i];
    logits[4 * experts + i] = i == 5 ? INFINITY : -INFINITY;
    logits[5 * experts + i] = i % 2 == 0 ? -0.0f : 0.0f;
    logits[6 * experts + i] = -200.0f * (float)i;
  }
  std::vector<int32_t> ids((size_t)(kMaxTokens * topK), 7), expectedIds(ids.size(), -1);
  std::vector<float> weights(ids.size(), 7.0f), expectedWeights(ids.size());
  for (int64_t t = 0; t < kMaxTokens; ++t)
    expectedSelection(expectedScores(&logits[t * experts], experts, kind), used, renormalize, renormEpsilon, factor,
                      &expectedIds[t * topK], &expectedWeights[t * topK]);
  call(kernel, used, 0, 0, kMaxTokens, logits.data(), ids.data(), weights.data());
  unifyNan(weights);
  unifyNan(expectedWeights);
  runner.expectSame("ids", ids, expectedIds);
  runner.expectSame("weights", weights, expectedWeights);
  if (kind != score::softmax || !renormalize)
    return;
  double sum = 0; // weights of the plain token 0 against double arithmetic
  for (int64_t rank = 0; rank < used; ++rank)
    sum += std::exp((double)logits[ids[rank]]);
  for (int64_t rank = 0; rank < used; ++rank)
    runner.expectNear("weight", weights[rank], std::exp((double)logits[ids[rank]]) / sum, 1e-6);
}

} // namespace

#define DECLARE(name, ...) extern "C" void name();
ROUTER_KERNELS(DECLARE)

void runRouterCases() {
#define ROUTER(name, experts, topK, kind, ...)                                                                         \
  for (int64_t used : {topK, (topK + 1) / 2, 1})                                                                       \
    runRouter(#name, name, experts, topK, used, score::kind, __VA_ARGS__);
  ROUTER_KERNELS(ROUTER)
}
