// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gates, and the operations of Gated DeltaNet: operands are fetched and sizes checked here, DeltaNet.h computes.
#include "lib/Reference/Frame.h"

#include "lib/Reference/DeltaNet.h"
#include "lib/Reference/Numerics.h"
#include "lib/Support/Fault.h"

using namespace mlir;

namespace moec {

llvm::Error Frame::getAll(llvm::ArrayRef<std::pair<Value, const FloatTensor **>> wanted) {
  for (auto [value, target] : wanted)
    if (llvm::Error error = get<FloatTensor>(value).moveInto(*target))
      return error;
  int64_t rows = (*wanted.front().second)->numRows();
  for (auto [value, target] : wanted)
    if ((*target)->shape.size() != 2 || (*target)->numRows() != rows)
      return fault("expects activations of " + llvm::Twine(rows) + " rows, but got " + describe(**target));
  return llvm::Error::success();
}

//===-- Gates -----------------------------------------------------------------------------------------------------===//

llvm::Error Frame::run(moe::ActivationOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  FloatTensor y = **x;
  for (float &value : y.values)
    value = activate(value, op.getKind());
  set(op, std::move(y));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::GluOp op) {
  const FloatTensor *gate, *up;
  if (llvm::Error error = getAll({{op.getGate(), &gate}, {op.getUp(), &up}}))
    return error;
  if (llvm::Error error = checkGlu(op.getGlu()))
    return error;
  if (gate->shape != up->shape)
    return fault("expects gate and up of one shape, but got " + describe(*gate) + " and " + describe(*up));
  FloatTensor y = *gate;
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = gluActivation(y.values[i], op.getGlu()) * up->values[i];
  set(op, std::move(y));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::GateOp op) {
  const FloatTensor *x, *g;
  if (llvm::Error error = getAll({{op.getX(), &x}, {op.getG(), &g}}))
    return error;
  if (g->rowSize() != x->rowSize() && g->rowSize() != 1)
    return fault("expects a gate of one column or as many as " + describe(*x) + ", but got " + describe(*g));
  FloatTensor y = *x;
  bool isShared = g->rowSize() == 1;
  for (int64_t t = 0; t < y.numRows(); ++t)
    for (int64_t i = 0; i < y.rowSize(); ++i)
      y.row(t)[i] = y.row(t)[i] * activate(g->row(t)[isShared ? 0 : i], op.getKind());
  if (llvm::Error error = addTo(y, op.getResidual()))
    return error;
  set(op, std::move(y));
  return llvm::Error::success();
}

//===-- Parts of Gated DeltaNet -----------------------------------------------------------------------------------===//

llvm::Expected<FloatTensor> Frame::convolved(const FloatTensor &x, Value w, Value stateValue, Value updated,
                                             std::optional<moe::ActivationKind> kind) {
  llvm::Expected<SharedMatrix> weight = matrix(w);
  if (!weight)
    return weight.takeError();
  llvm::Expected<const StatePointer *> state = get<StatePointer>(stateValue);
  if (!state)
    return state.takeError();
  StatePointer object = **state;
  if (object->shape != std::vector<int64_t>{(*weight)->columns() - 1, x.rowSize()} || (*weight)->rows() != x.rowSize())
    return fault("expects a weight and a state of " + llvm::Twine(x.rowSize()) + " channels, but got " +
                 describe(object));
  FloatTensor y = convolve(x, **weight, *object, kind);
  set(updated, std::move(object));
  return y;
}

llvm::Error Frame::run(moe::CausalConv1dOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  FloatTensor rows = **x;
  llvm::Expected<FloatTensor> y = convolved(rows, op.getW(), op.getState(), op.getUpdated(), op.getKind());
  if (!y)
    return y.takeError();
  set(op.getY(), std::move(*y));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::L2NormOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  int64_t block = op.getBlock();
  if ((*x)->rowSize() % block)
    return fault("expects columns in blocks of " + llvm::Twine(block) + ", but got " + describe(**x));
  set(op, l2Norm(**x, block, op.getEps().convertToFloat()));
  return llvm::Error::success();
}

llvm::Expected<FloatTensor> Frame::decayOf(const FloatTensor &a, Value aLog, Value dtBias) {
  llvm::Expected<std::vector<float>> log = vector(aLog), bias = vector(dtBias);
  if (llvm::Error error = llvm::joinErrors(log ? llvm::Error::success() : log.takeError(),
                                           bias ? llvm::Error::success() : bias.takeError()))
    return std::move(error);
  if (log->empty() || static_cast<int64_t>(bias->size()) != a.rowSize() || bias->size() % log->size())
    return fault("expects a dt_bias of " + llvm::Twine(a.rowSize()) + " values and an A_log that divides it, but got " +
                 llvm::Twine(bias->size()) + " and " + llvm::Twine(log->size()));
  return logDecay(a, *log, *bias);
}

llvm::Error Frame::run(moe::DecayOp op) {
  llvm::Expected<const FloatTensor *> a = get<FloatTensor>(op.getA());
  if (!a)
    return a.takeError();
  llvm::Expected<FloatTensor> g = decayOf(**a, op.getALog(), op.getDtBias());
  if (!g)
    return g.takeError();
  set(op, std::move(*g));
  return llvm::Error::success();
}

llvm::Expected<FloatTensor> Frame::recall(const DeltaInputs &inputs, Value stateValue, Value updated) {
  llvm::Expected<const StatePointer *> state = get<StatePointer>(stateValue);
  if (!state)
    return state.takeError();
  StatePointer object = **state;
  FloatTensor o = deltaRule(inputs, *object);
  set(updated, std::move(object));
  return o;
}

llvm::Error Frame::run(moe::DeltaRuleOp op) {
  const FloatTensor *q, *k, *v, *g, *beta;
  if (llvm::Error error =
          getAll({{op.getQ(), &q}, {op.getK(), &k}, {op.getV(), &v}, {op.getG(), &g}, {op.getBeta(), &beta}}))
    return error;
  llvm::Expected<FloatTensor> o =
      recall({*q, *k, *v, *g, *beta, op.getScale().convertToFloat(), op.getHeadMap()}, op.getState(), op.getUpdated());
  if (!o)
    return o.takeError();
  set(op.getO(), std::move(*o));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::GatedNormOp op) {
  const FloatTensor *x, *z;
  if (llvm::Error error = getAll({{op.getX(), &x}, {op.getZ(), &z}}))
    return error;
  llvm::Expected<std::vector<float>> w = vector(op.getW());
  if (!w)
    return w.takeError();
  if (w->empty() || x->shape != z->shape || x->rowSize() % static_cast<int64_t>(w->size()))
    return fault("expects x and z of one shape, in blocks of " + llvm::Twine(w->size()) + ", but got " + describe(*x) +
                 " and " + describe(*z));
  set(op, gatedNorm(*x, *z, *w, op.getEps().convertToFloat(), op.getKind()));
  return llvm::Error::success();
}

//===-- The whole step --------------------------------------------------------------------------------------------===//

llvm::Error Frame::run(moe::DeltaStepOp op) {
  const FloatTensor *q, *k, *v, *z, *a, *b;
  if (llvm::Error error = getAll(
          {{op.getQ(), &q}, {op.getK(), &k}, {op.getV(), &v}, {op.getZ(), &z}, {op.getA(), &a}, {op.getB(), &b}}))
    return error;
  llvm::Expected<FloatTensor> g = decayOf(*a, op.getALog(), op.getDtBias());
  if (!g)
    return g.takeError();
  FloatTensor beta = *b, gates = *z;
  for (float &value : beta.values)
    value = sigmoid(value);
  llvm::Expected<std::vector<float>> w = vector(op.getW());
  if (!w)
    return w.takeError();
  // The tensors are copied: setting a result may move the others.
  FloatTensor rows[3] = {*q, *k, *v};
  std::tuple<Value, Value, Value> operands[3] = {{op.getQConv(), op.getQState(), op.getQUpdated()},
                                                 {op.getKConv(), op.getKState(), op.getKUpdated()},
                                                 {op.getVConv(), op.getVState(), op.getVUpdated()}};
  for (auto [x, operand] : llvm::zip_equal(rows, operands)) {
    auto [weight, state, updated] = operand;
    llvm::Expected<FloatTensor> y = convolved(x, weight, state, updated, moe::ActivationKind::silu);
    if (!y)
      return y.takeError();
    x = std::move(*y);
  }
  int64_t keyDim = op.getState().getType().getShape()[1];
  float l2Epsilon = op.getL2Eps().convertToFloat();
  FloatTensor query = l2Norm(rows[0], keyDim, l2Epsilon), key = l2Norm(rows[1], keyDim, l2Epsilon);
  llvm::Expected<FloatTensor> o = recall(
      {query, key, rows[2], *g, beta, op.getScale().convertToFloat(), op.getHeadMap()}, op.getState(), op.getUpdated());
  if (!o)
    return o.takeError();
  set(op.getY(), gatedNorm(*o, gates, *w, op.getEps().convertToFloat(), op.getKind()));
  return llvm::Error::success();
}

} // namespace moec
