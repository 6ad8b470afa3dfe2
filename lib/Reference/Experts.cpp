// SPDX-License-Identifier: Apache-2.0
/// \file
/// Routers and routed experts.
#include "lib/Reference/Frame.h"

#include "lib/Reference/Numerics.h"
#include "lib/Support/Fault.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace moec {

//===-- Routers ---------------------------------------------------------------------------------------------------===//

static std::vector<float> scoresOf(llvm::ArrayRef<float> logits, moe::Score score) {
  std::vector<float> scores(logits.begin(), logits.end());
  if (score == moe::Score::none)
    return scores;
  if (score == moe::Score::sigmoid) {
    for (float &s : scores)
      s = sigmoid(s);
    return scores;
  }
  float largest = -INFINITY, partials[16] = {};
  for (float s : scores)
    largest = s > largest ? s : largest;
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = expandedExp(scores[i] - largest);
    partials[i % 16] = partials[i % 16] + scores[i];
  }
  float sum = treeSum(partials);
  for (float &s : scores)
    s = s / sum;
  return scores;
}

/// The largest score that is not taken; ties go to the lowest index, a NaN comes last.
static size_t bestOf(llvm::ArrayRef<float> scores, const std::vector<bool> &taken) {
  size_t best = scores.size();
  for (size_t i = 0; i < scores.size(); ++i) {
    if (taken[i])
      continue;
    bool beatsNan = best < scores.size() && std::isnan(scores[best]) && !std::isnan(scores[i]);
    if (best == scores.size() || beatsNan || scores[i] > scores[best])
      best = i;
  }
  return best;
}

std::pair<FloatTensor, IntTensor> route(const FloatTensor &logits, const RouteSpec &spec) {
  FloatTensor weights{{logits.numRows(), spec.k}, {}};
  IntTensor ids{{logits.numRows(), spec.k}, {}};
  for (int64_t t = 0; t < logits.numRows(); ++t) {
    std::vector<float> scores = scoresOf(logits.row(t), spec.score), chosen;
    std::vector<bool> taken(scores.size());
    float sum = 0.0f;
    for (int64_t rank = 0; rank < spec.used; ++rank) {
      size_t best = bestOf(scores, taken);
      taken[best] = true;
      ids.values.push_back(static_cast<int32_t>(best));
      chosen.push_back(scores[best]);
      sum = sum + scores[best];
    }
    float divisor = spec.renormEps == 0.0f ? sum : sum + spec.renormEps;
    for (float weight : chosen) {
      weight = spec.renormalizes ? weight / divisor : weight;
      weights.values.push_back(spec.factor != 1.0f ? weight * spec.factor : weight);
    }
    ids.values.resize(ids.values.size() + (spec.k - spec.used), -1);
    weights.values.resize(ids.values.size());
  }
  return {std::move(weights), std::move(ids)};
}

template <typename OpType> llvm::Error Frame::setRouted(OpType op, const FloatTensor &logits) {
  int64_t k = static_cast<int64_t>(op.getK());
  if (expertsUsed > k)
    return fault("has " + llvm::Twine(k) + " experts for each token, expects at least the " + llvm::Twine(expertsUsed) +
                 " to be used");
  auto [weights, ids] = route(logits, {k, expertsUsed ? expertsUsed : k, op.getScore(), op.getRenormalize(),
                                       op.getRenormEps().convertToFloat(), op.getFactor().convertToFloat()});
  set(op.getWeights(), std::move(weights));
  set(op.getIds(), std::move(ids));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::RouteOp op) {
  llvm::Expected<const FloatTensor *> logits = get<FloatTensor>(op.getLogits());
  if (!logits)
    return logits.takeError();
  return setRouted(op, **logits);
}

llvm::Error Frame::run(moe::RouterTopkOp op) {
  llvm::Expected<SharedMatrix> w = matrix(op.getW());
  if (!w)
    return w.takeError();
  llvm::Expected<FloatTensor> logits = product(op.getX(), **w);
  if (!logits)
    return logits.takeError();
  return setRouted(op, *logits);
}

//===-- Experts ---------------------------------------------------------------------------------------------------===//

FloatTensor gatherRows(const FloatTensor &x, llvm::ArrayRef<int64_t> rows) {
  FloatTensor result{{static_cast<int64_t>(rows.size()), x.rowSize()}, {}};
  for (int64_t row : rows)
    result.values.insert(result.values.end(), x.row(row).begin(), x.row(row).end());
  return result;
}

ActTensor gatherRows(const ActTensor &x, llvm::ArrayRef<int64_t> rows) {
  ActTensor result;
  result.rows = static_cast<int64_t>(rows.size());
  result.columns = x.columns;
  result.group = x.group;
  int64_t numGroups = x.columns / x.group;
  auto copy = [](auto &to, const auto &from, int64_t row, int64_t size) {
    to.insert(to.end(), from.begin() + row * size, from.begin() + (row + 1) * size);
  };
  for (int64_t row : rows) {
    copy(result.codes, x.codes, row, x.columns);
    copy(result.scales, x.scales, row, numGroups);
    copy(result.sums, x.sums, row, numGroups);
  }
  return result;
}

float gluActivation(float gate, moe::GluKind kind) {
  return kind == moe::GluKind::swiglu ? silu(gate) : gate > 0.0f ? gate : 0.0f;
}

llvm::Error checkGlu(moe::GluKind kind) {
  if (kind != moe::GluKind::swiglu && kind != moe::GluKind::reglu)
    return fault("expects an activation swiglu or reglu, but got " + moe::stringifyGluKind(kind));
  return llvm::Error::success();
}

namespace {

/// The activation that a matrix of the experts reads: codes or floats, one of them.
struct ExpertInput {
  const ActTensor *codes = nullptr;
  const FloatTensor *floats = nullptr;

  int64_t rows() const { return codes ? codes->rows : floats->numRows(); }
  int64_t columns() const { return codes ? codes->columns : floats->rowSize(); }
};

/// The tokens of one expert: x gathered, through gate, up, activation and down.
struct ExpertRun {
  SharedMatrix gate, up, down;
  moe::GluKind kind;

  static FloatTensor multiply(const FloatTensor &x, const Matrix &w) {
    FloatTensor y{{x.numRows(), w.rows()}, std::vector<float>(x.numRows() * w.rows())};
    w.multiply(x.values.data(), x.numRows(), y.values.data());
    return y;
  }
  static FloatTensor multiply(const ActTensor &x, const Matrix &w) {
    FloatTensor y{{x.rows, w.rows()}, std::vector<float>(x.rows * w.rows())};
    w.multiply(x, y.values.data());
    return y;
  }
  static FloatTensor multiply(const ExpertInput &x, llvm::ArrayRef<int64_t> rows, const Matrix &w) {
    return x.codes ? multiply(gatherRows(*x.codes, rows), w) : multiply(gatherRows(*x.floats, rows), w);
  }

  /// `x` and `xUp`: what gate and up read of the same tokens.
  FloatTensor operator()(const ExpertInput &x, const ExpertInput &xUp, llvm::ArrayRef<int64_t> rows) const {
    FloatTensor hidden = multiply(x, rows, *gate), factors = multiply(xUp, rows, *up);
    for (size_t i = 0; i < hidden.values.size(); ++i)
      hidden.values[i] = gluActivation(hidden.values[i], kind) * factors.values[i];
    if (down->encoding().isInteger())
      return multiply(quantizeActivations(hidden, down->encoding().group), *down);
    return multiply(hidden, *down);
  }
};

} // namespace

/// For each expert its (token, rank) pairs as token * k + rank, ascending. Id -1: a rank that is not used.
static llvm::Expected<std::vector<std::vector<int64_t>>> pairsByExpert(const IntTensor &ids, int64_t numExperts) {
  std::vector<std::vector<int64_t>> pairs(numExperts);
  for (auto [pair, id] : llvm::enumerate(ids.values)) {
    if (id == -1)
      continue;
    if (id < 0 || id >= numExperts)
      return fault("expects ids from 0 to " + llvm::Twine(numExperts - 1) + ", but got " + llvm::Twine(id));
    pairs[id].push_back(static_cast<int64_t>(pair));
  }
  return pairs;
}

/// Rule N7: outputs [tokens * k, columns] are weighted and summed in rank order, whoever computed them; ranks without
/// an expert (id -1) stand last.
static FloatTensor combine(const FloatTensor &outputs, const FloatTensor &weights, const IntTensor &ids) {
  int64_t tokens = weights.shape[0], k = weights.shape[1], columns = outputs.shape[1];
  FloatTensor y{{tokens, columns}, std::vector<float>(tokens * columns)};
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t used = std::find(&ids.values[t * k], &ids.values[t * k] + k, -1) - &ids.values[t * k];
    const float *weight = &weights.values[t * k], *output = &outputs.values[t * k * columns];
    for (int64_t i = 0; i < columns; ++i) {
      float sum = weight[0] * output[i];
      for (int64_t rank = 1; rank < used; ++rank)
        sum = std::fma(weight[rank], output[rank * columns + i], sum);
      y.values[t * columns + i] = sum;
    }
  }
  return y;
}

llvm::Expected<FloatTensor> Frame::expertOutputs(moe::ExpertsOp op, const IntTensor &ids) {
  auto inputOf = [&](Value value, ExpertInput &input) -> llvm::Error {
    if (moe::getAct(value.getType()))
      return get<ActTensor>(value).moveInto(input.codes);
    return get<FloatTensor>(value).moveInto(input.floats);
  };
  ExpertInput x, xUp;
  if (llvm::Error error = inputOf(op.getX(), x))
    return std::move(error);
  if (llvm::Error error = inputOf(op.getXUp() ? op.getXUp() : op.getX(), xUp))
    return std::move(error);
  int64_t k = ids.shape[1], tokens = x.rows(), columns = x.columns();
  if (ids.shape[0] != tokens || xUp.rows() != tokens || xUp.columns() != columns)
    return fault("expects ids of " + llvm::Twine(tokens) + " rows, but got " + describe(ids));
  auto pairsOf = pairsByExpert(ids, op.getGate().getType().getDimSize(0));
  if (!pairsOf)
    return pairsOf.takeError();
  FloatTensor outputs{{tokens * k, columns}, std::vector<float>(tokens * k * columns)};
  for (auto [expert, pairs] : llvm::enumerate(*pairsOf)) {
    if (pairs.empty())
      continue;
    SharedMatrix w[3];
    Value operands[] = {op.getGate(), op.getUp(), op.getDown()};
    for (auto [target, operand] : llvm::zip_equal(w, operands)) {
      llvm::Expected<SharedMatrix> fetched = matrix(operand, static_cast<int64_t>(expert));
      if (!fetched)
        return fetched.takeError();
      target = std::move(*fetched);
    }
    if (w[0]->columns() != columns || w[1]->columns() != columns || w[1]->rows() != w[0]->rows() ||
        w[2]->columns() != w[0]->rows() || w[2]->rows() != columns)
      return fault("expects gate and up [I, " + llvm::Twine(columns) + "] and down [" + llvm::Twine(columns) + ", I]");
    std::vector<int64_t> rows;
    for (int64_t pair : pairs)
      rows.push_back(pair / k);
    ExpertRun run{w[0], w[1], w[2], op.getGlu()};
    FloatTensor y = run(x, xUp, rows);
    for (auto [row, pair] : llvm::enumerate(pairs))
      llvm::copy(y.row(row), outputs.row(pair).begin());
  }
  return outputs;
}

llvm::Error Frame::run(moe::ExpertsOp op) {
  llvm::Expected<const FloatTensor *> weights = get<FloatTensor>(op.getWeights());
  if (!weights)
    return weights.takeError();
  llvm::Expected<const IntTensor *> ids = get<IntTensor>(op.getIds());
  if (!ids)
    return ids.takeError();
  if ((*weights)->shape != (*ids)->shape)
    return fault("expects weights and ids of one shape, but got " + describe(**weights) + " and " + describe(**ids));
  if (llvm::Error error = checkGlu(op.getGlu()))
    return error;
  llvm::Expected<FloatTensor> outputs = expertOutputs(op, **ids);
  if (!outputs)
    return outputs.takeError();
  FloatTensor y = combine(*outputs, **weights, **ids);
  if (llvm::Error error = addTo(y, op.getResidual()))
    return error;
  set(op, std::move(y));
  return llvm::Error::success();
}

} // namespace moec
