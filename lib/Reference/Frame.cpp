// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operands, constants, weights, products, norms and activation quantization.
#include "lib/Reference/Frame.h"

#include "lib/Reference/Numerics.h"
#include "lib/Support/Fault.h"

using namespace mlir;

namespace moec {

//===-- Operands --------------------------------------------------------------------------------------------------===//

template <typename T> static constexpr const char *kindName = "a cache";
template <> constexpr const char *kindName<int64_t> = "an index";
template <> constexpr const char *kindName<FloatTensor> = "an f32 tensor";
template <> constexpr const char *kindName<IntTensor> = "an i32 tensor";
template <> constexpr const char *kindName<ActTensor> = "a quantized activation";

template <> constexpr const char *kindName<StatePointer> = "a state";

template <typename T> llvm::Expected<const T *> Frame::get(Value value) const {
  auto found = values.find(value);
  if (found == values.end())
    return fault("uses a value before it is computed");
  if (auto *result = std::get_if<T>(&found->second))
    return result;
  return fault(llvm::Twine("expects ") + kindName<T> + ", but got " + describe(found->second));
}

template llvm::Expected<const int64_t *> Frame::get(Value) const;
template llvm::Expected<const FloatTensor *> Frame::get(Value) const;
template llvm::Expected<const IntTensor *> Frame::get(Value) const;
template llvm::Expected<const ActTensor *> Frame::get(Value) const;
template llvm::Expected<const std::shared_ptr<KvCache> *> Frame::get(Value) const;
template llvm::Expected<const StatePointer *> Frame::get(Value) const;

llvm::Expected<SharedMatrix> Frame::matrix(Value value, int64_t expert) {
  auto found = values.find(value);
  if (found == values.end())
    return fault("uses a value before it is computed");
  if (auto *handle = std::get_if<WeightHandle>(&found->second))
    return weights.matrix(handle->weight, expert);
  auto *tensor = std::get_if<FloatTensor>(&found->second);
  if (!tensor || tensor->shape.empty() || tensor->shape.size() > 3)
    return fault("expects a weight, but got " + describe(found->second));
  size_t rank = tensor->shape.size();
  int64_t columns = tensor->shape[rank - 1], rows = rank == 1 ? 1 : tensor->shape[rank - 2];
  if (expert < 0 || expert >= (rank == 3 ? tensor->shape[0] : 1))
    return fault("expects an expert that the weight has, but got " + llvm::Twine(expert));
  llvm::Expected<Encoding> encoding = moe::encodingOf(moe::getQuant(value.getType()));
  if (!encoding)
    return encoding.takeError();
  auto slice = llvm::ArrayRef(tensor->values).slice(expert * rows * columns, rows * columns);
  llvm::Expected<Matrix> result = Matrix::create(slice, rows, columns, *encoding, "a constant");
  if (!result)
    return result.takeError();
  return std::make_shared<const Matrix>(std::move(*result));
}

llvm::Expected<std::vector<float>> Frame::vector(Value value) {
  llvm::Expected<SharedMatrix> weight = matrix(value);
  if (!weight)
    return weight.takeError();
  std::vector<float> result((*weight)->columns());
  (*weight)->readRow(0, result);
  return result;
}

//===-- Constants and weights -------------------------------------------------------------------------------------===//

llvm::Error Frame::run(arith::ConstantOp op) {
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue()); integer && integer.getType().isIndex()) {
    set(op, integer.getInt());
    return llvm::Error::success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !isa<RankedTensorType>(elements.getType()))
    return fault("expects an index or a dense tensor");
  // 2^26 values are 256 MiB; a splat of any size is a few bytes of text.
  if (elements.getNumElements() > (int64_t(1) << 26))
    return fault("expects at most 2^26 values, but got " + llvm::Twine(elements.getNumElements()));
  std::vector<int64_t> shape(elements.getType().getShape());
  if (elements.getElementType().isF32()) {
    auto range = elements.getValues<float>();
    set(op, FloatTensor{shape, std::vector<float>(range.begin(), range.end())});
    return llvm::Error::success();
  }
  if (!elements.getElementType().isInteger(32))
    return fault("expects elements f32 or i32");
  auto range = elements.getValues<int32_t>();
  set(op, IntTensor{shape, std::vector<int32_t>(range.begin(), range.end())});
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::ParamOp op) {
  auto weight = symbols.lookup<moe::WeightOp>(op.getWeight());
  if (!weight)
    return fault("expects the name of a moe.weight, but got @" + op.getWeight());
  set(op, WeightHandle{weight});
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::EmbedOp op) {
  llvm::Expected<const IntTensor *> tokens = get<IntTensor>(op.getTokens());
  if (!tokens)
    return tokens.takeError();
  llvm::Expected<SharedMatrix> table = matrix(op.getTable());
  if (!table)
    return table.takeError();
  FloatTensor y;
  y.shape = {static_cast<int64_t>((*tokens)->values.size()), (*table)->columns()};
  y.values.resize(y.shape[0] * y.shape[1]);
  for (auto [t, token] : llvm::enumerate((*tokens)->values)) {
    if (token < 0 || token >= (*table)->rows())
      return fault("expects tokens from 0 to " + llvm::Twine((*table)->rows() - 1) + ", but got " + llvm::Twine(token));
    (*table)->readRow(token, y.row(t));
  }
  set(op, std::move(y));
  return llvm::Error::success();
}

//===-- Sums and products -----------------------------------------------------------------------------------------===//

llvm::Error Frame::addTo(FloatTensor &y, Value residual) {
  if (!residual)
    return llvm::Error::success();
  llvm::Expected<const FloatTensor *> r = get<FloatTensor>(residual);
  if (!r)
    return r.takeError();
  if ((*r)->shape != y.shape)
    return fault("expects a second term of shape " + describe(y) + ", but got " + describe(**r));
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = y.values[i] + (*r)->values[i];
  return llvm::Error::success();
}

llvm::Error Frame::addBias(FloatTensor &y, Value bias) {
  if (!bias)
    return llvm::Error::success();
  llvm::Expected<std::vector<float>> values = vector(bias);
  if (!values)
    return values.takeError();
  if (static_cast<int64_t>(values->size()) != y.rowSize())
    return fault("expects a bias of " + llvm::Twine(y.rowSize()) + " values, but got " + llvm::Twine(values->size()));
  for (size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = y.values[i] + (*values)[i % values->size()];
  return llvm::Error::success();
}

llvm::Error Frame::run(arith::AddFOp op) {
  llvm::Expected<const FloatTensor *> lhs = get<FloatTensor>(op.getLhs());
  if (!lhs)
    return lhs.takeError();
  FloatTensor y = **lhs;
  if (llvm::Error error = addTo(y, op.getRhs()))
    return error;
  set(op, std::move(y));
  return llvm::Error::success();
}

llvm::Expected<FloatTensor> Frame::product(Value x, const Matrix &w) {
  FloatTensor y;
  if (moe::getAct(x.getType())) {
    llvm::Expected<const ActTensor *> act = get<ActTensor>(x);
    if (!act)
      return act.takeError();
    if ((*act)->columns != w.columns() || w.encoding().group != (*act)->group)
      return fault("expects an activation of " + llvm::Twine(w.columns()) + " columns in the weight's groups");
    y.shape = {(*act)->rows, w.rows()};
    y.values.resize(y.shape[0] * y.shape[1]);
    w.multiply(**act, y.values.data());
    return y;
  }
  llvm::Expected<const FloatTensor *> floats = get<FloatTensor>(x);
  if (!floats)
    return floats.takeError();
  if ((*floats)->shape.size() != 2 || (*floats)->shape[1] != w.columns() || w.encoding().isInteger())
    return fault("expects an activation of " + llvm::Twine(w.columns()) + " columns and a weight of floats");
  y.shape = {(*floats)->shape[0], w.rows()};
  y.values.resize(y.shape[0] * y.shape[1]);
  w.multiply((*floats)->values.data(), y.shape[0], y.values.data());
  return y;
}

llvm::Error Frame::run(moe::LinearOp op) {
  llvm::Expected<SharedMatrix> w = matrix(op.getW());
  if (!w)
    return w.takeError();
  llvm::Expected<FloatTensor> y = product(op.getX(), **w);
  if (!y)
    return y.takeError();
  if (llvm::Error error = addBias(*y, op.getBias()))
    return error;
  if (llvm::Error error = addTo(*y, op.getResidual()))
    return error;
  set(op, std::move(*y));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::MultiLinearOp op) {
  for (auto [index, weight, result] : llvm::enumerate(op.getWeights(), op.getYs())) {
    llvm::Expected<SharedMatrix> w = matrix(weight);
    if (!w)
      return w.takeError();
    llvm::Expected<FloatTensor> y = product(op.getX(), **w);
    if (!y)
      return y.takeError();
    if (llvm::Error error = addBias(*y, op.getBiases().empty() ? Value() : op.getBiases()[index]))
      return error;
    set(result, std::move(*y));
  }
  return llvm::Error::success();
}

//===-- Norms and activation quantization -------------------------------------------------------------------------===//

llvm::Error Frame::normalize(FloatTensor &x, Value w, float eps, bool unitOffset) {
  llvm::Expected<std::vector<float>> factors = vector(w);
  if (!factors)
    return factors.takeError();
  size_t block = factors->size();
  if (block == 0 || x.rowSize() % static_cast<int64_t>(block))
    return fault("expects a weight whose length divides the columns");
  for (size_t begin = 0; begin < x.values.size(); begin += block) {
    auto part = llvm::MutableArrayRef(x.values).slice(begin, block);
    rmsNorm(part, *factors, eps, unitOffset, part);
  }
  return llvm::Error::success();
}

template <typename NormOp> llvm::Expected<FloatTensor> Frame::normOf(NormOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  FloatTensor y = **x;
  if (llvm::Error error = normalize(y, op.getW(), op.getEps().convertToFloat(), op.getUnitOffset()))
    return std::move(error);
  return y;
}

llvm::Error Frame::run(moe::RmsNormOp op) {
  llvm::Expected<FloatTensor> y = normOf(op);
  if (!y)
    return y.takeError();
  set(op, std::move(*y));
  return llvm::Error::success();
}

static llvm::Expected<ActTensor> quantize(const FloatTensor &x, Type type) {
  int64_t group = moe::getAct(type).getGroup();
  if (x.rowSize() % group)
    return fault("expects columns in groups of " + llvm::Twine(group) + ", but got " + llvm::Twine(x.rowSize()));
  return quantizeActivations(x, group);
}

llvm::Error Frame::run(moe::QuantizeActOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  llvm::Expected<ActTensor> y = quantize(**x, op.getY().getType());
  if (!y)
    return y.takeError();
  set(op, std::move(*y));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::NormQuantizeOp op) {
  llvm::Expected<FloatTensor> y = normOf(op);
  if (!y)
    return y.takeError();
  llvm::Expected<ActTensor> q = quantize(*y, op.getQ().getType());
  if (!q)
    return q.takeError();
  set(op.getY(), std::move(*y));
  set(op.getQ(), std::move(*q));
  return llvm::Error::success();
}

} // namespace moec
