// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of a Gated DeltaNet layer as plain loops. Compiled without contraction.
#include "lib/Reference/DeltaNet.h"

#include "lib/Reference/Clones.h"
#include "lib/Reference/Numerics.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace moec {

float activate(float x, moe::ActivationKind kind) { return kind == moe::ActivationKind::silu ? silu(x) : sigmoid(x); }

FloatTensor convolve(const FloatTensor &x, const Matrix &w, FloatTensor &state,
                     std::optional<moe::ActivationKind> kind) {
  int64_t tokens = x.numRows(), channels = x.rowSize(), length = w.columns();
  // The window's rows, then the chunk's.
  std::vector<float> rows(state.values);
  rows.insert(rows.end(), x.values.begin(), x.values.end());
  FloatTensor y{x.shape, std::vector<float>(x.values.size())};
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t c = 0; c < channels; ++c) {
      float sum = 0.0f;
      for (int64_t j = 0; j < length; ++j)
        sum = std::fma(w.at(c, j), rows[(t + j) * channels + c], sum);
      y.row(t)[c] = kind ? activate(sum, *kind) : sum;
    }
  std::copy(rows.end() - state.values.size(), rows.end(), state.values.begin());
  return y;
}

FloatTensor l2Norm(const FloatTensor &x, int64_t block, float eps) {
  FloatTensor y = x;
  for (size_t begin = 0; begin < y.values.size(); begin += block) {
    auto part = llvm::MutableArrayRef(y.values).slice(begin, block);
    float factor = lengthFactor(part, eps);
    for (float &value : part)
      value = value * factor;
  }
  return y;
}

FloatTensor logDecay(const FloatTensor &a, llvm::ArrayRef<float> aLog, llvm::ArrayRef<float> dtBias) {
  FloatTensor g = a;
  size_t perHead = dtBias.size() / aLog.size();
  for (size_t i = 0; i < g.values.size(); ++i) {
    size_t column = i % dtBias.size();
    g.values[i] = -expandedExp(aLog[column / perHead]) * softplus(a.values[i] + dtBias[column]);
  }
  return g;
}

namespace {

/// One token of one value head.
struct DeltaHead {
  int64_t keyDim, valueDim;
  const float *k, *q; // [keyDim]; q is scaled
  const float *v;     // [valueDim]
  const float *decay; // [keyDim]
  float beta;
  float *state; // [keyDim][valueDim]
  float *sums;  // [valueDim]: scratch
  float *o;     // [valueDim]
};

} // namespace

REFERENCE_FMA_CLONES static void runDeltaHead(const DeltaHead &head) {
  std::fill_n(head.sums, head.valueDim, 0.0f);
  std::fill_n(head.o, head.valueDim, 0.0f);
  for (int64_t d = 0; d < head.keyDim; ++d) {
    float *row = head.state + d * head.valueDim;
    for (int64_t j = 0; j < head.valueDim; ++j) {
      row[j] = row[j] * head.decay[d];
      head.sums[j] = std::fma(row[j], head.k[d], head.sums[j]);
    }
  }
  for (int64_t j = 0; j < head.valueDim; ++j)
    head.sums[j] = head.beta * (head.v[j] - head.sums[j]);
  for (int64_t d = 0; d < head.keyDim; ++d) {
    float *row = head.state + d * head.valueDim;
    for (int64_t j = 0; j < head.valueDim; ++j) {
      row[j] = std::fma(head.k[d], head.sums[j], row[j]);
      head.o[j] = std::fma(row[j], head.q[d], head.o[j]);
    }
  }
}

FloatTensor deltaRule(const DeltaInputs &inputs, FloatTensor &state) {
  int64_t valueHeads = state.shape[0], keyDim = state.shape[1], valueDim = state.shape[2];
  int64_t keyHeads = inputs.q.rowSize() / keyDim;
  bool isByChannel = inputs.g.rowSize() != valueHeads;
  FloatTensor o{inputs.v.shape, std::vector<float>(inputs.v.values.size())};
  std::vector<float> query(keyDim), decay(keyDim), sums(valueDim);
  for (int64_t t = 0; t < o.numRows(); ++t)
    for (int64_t h = 0; h < valueHeads; ++h) {
      bool isGrouped = inputs.headMap == moe::HeadMap::grouped;
      int64_t keyHead = isGrouped ? h / (valueHeads / keyHeads) : h % keyHeads;
      for (int64_t d = 0; d < keyDim; ++d) {
        query[d] = inputs.q.row(t)[keyHead * keyDim + d] * inputs.scale;
        decay[d] = isByChannel || d == 0 ? expandedExp(inputs.g.row(t)[isByChannel ? h * keyDim + d : h]) : decay[0];
      }
      runDeltaHead({keyDim, valueDim, inputs.k.row(t).data() + keyHead * keyDim, query.data(),
                    inputs.v.row(t).data() + h * valueDim, decay.data(), inputs.beta.row(t)[h],
                    state.values.data() + h * keyDim * valueDim, sums.data(), o.row(t).data() + h * valueDim});
    }
  return o;
}

FloatTensor gatedNorm(const FloatTensor &x, const FloatTensor &z, llvm::ArrayRef<float> w, float eps,
                      moe::ActivationKind kind) {
  FloatTensor y = x;
  for (size_t begin = 0; begin < y.values.size(); begin += w.size()) {
    auto part = llvm::MutableArrayRef(y.values).slice(begin, w.size());
    rmsNorm(part, w, eps, /*unitOffset=*/false, part);
  }
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = y.values[i] * activate(z.values[i], kind);
  return y;
}

} // namespace moec
