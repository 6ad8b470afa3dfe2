// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rotary embedding, cache append and attention.
#include "lib/Reference/Frame.h"

#include "lib/Plan/RopeTable.h"
#include "lib/Reference/Numerics.h"
#include "lib/Support/Fault.h"

using namespace mlir;

namespace moec {

/// Rotates the first `dim` values of each head of each row.
template <typename RopeOp>
static llvm::Error rotateHeads(FloatTensor &x, int64_t position, int64_t headDim, RopeOp op) {
  // 2^31: positions are exact in double long before, and no cache reaches it.
  if (position < 0 || position > (int64_t(1) << 31))
    return fault("expects a position from 0 to 2^31, but got " + llvm::Twine(position));
  if (x.rowSize() % headDim || x.rowSize() < headDim)
    return fault("expects columns in heads of " + llvm::Twine(headDim) + ", but got " + describe(x));
  std::vector<double> frequencies =
      ropeFrequencies(op.getDim(), op.getTheta().convertToDouble(), moe::ropeScalingOf(op.getScalingAttr()));
  for (int64_t t = 0; t < x.numRows(); ++t) {
    Rotation rotation = rotationAt(position + t, frequencies);
    for (int64_t first = 0; first < x.rowSize(); first += headDim)
      rotate(x.row(t).slice(first, headDim), rotation, op.getStyle() == moe::RopeStyle::interleaved);
  }
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::RopeOp op) {
  llvm::Expected<const FloatTensor *> x = get<FloatTensor>(op.getX());
  if (!x)
    return x.takeError();
  llvm::Expected<const int64_t *> position = get<int64_t>(op.getPosition());
  if (!position)
    return position.takeError();
  FloatTensor y = **x;
  if (llvm::Error error = rotateHeads(y, **position, op.getHeadDim(), op))
    return error;
  set(op, std::move(y));
  return llvm::Error::success();
}

llvm::Error Frame::append(Value cacheValue, Value updated, const FloatTensor &k, const FloatTensor &v,
                          int64_t position) {
  llvm::Expected<const std::shared_ptr<KvCache> *> cache = get<std::shared_ptr<KvCache>>(cacheValue);
  if (!cache)
    return cache.takeError();
  if (k.numRows() != v.numRows())
    return fault("expects as many keys as values, but got " + describe(k) + " and " + describe(v));
  std::shared_ptr<KvCache> object = **cache;
  if (llvm::Error error = object->append(k, v, position))
    return error;
  set(updated, std::move(object));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::CacheAppendOp op) {
  llvm::Expected<const FloatTensor *> k = get<FloatTensor>(op.getK());
  if (!k)
    return k.takeError();
  llvm::Expected<const FloatTensor *> v = get<FloatTensor>(op.getV());
  if (!v)
    return v.takeError();
  llvm::Expected<const int64_t *> position = get<int64_t>(op.getPosition());
  if (!position)
    return position.takeError();
  return append(op.getCache(), op.getUpdated(), **k, **v, **position);
}

llvm::Error Frame::run(moe::RopeAppendOp op) {
  llvm::Expected<const int64_t *> position = get<int64_t>(op.getPosition());
  if (!position)
    return position.takeError();
  int64_t headDim = op.getCache().getType().getQkDim();
  FloatTensor rotated[2];
  std::pair<Value, Value> inputs[] = {{op.getQ(), op.getQNorm()}, {op.getK(), op.getKNorm()}};
  for (auto [target, input] : llvm::zip_equal(rotated, inputs)) {
    llvm::Expected<const FloatTensor *> x = get<FloatTensor>(input.first);
    if (!x)
      return x.takeError();
    target = **x;
    if (input.second)
      if (llvm::Error error = normalize(target, input.second, op.getEps().convertToFloat(), op.getUnitOffset()))
        return error;
    if (llvm::Error error = rotateHeads(target, **position, headDim, op))
      return error;
  }
  llvm::Expected<const FloatTensor *> v = get<FloatTensor>(op.getV());
  if (!v)
    return v.takeError();
  FloatTensor values = **v;
  if (llvm::Error error = append(op.getCache(), op.getUpdated(), rotated[1], values, **position))
    return error;
  set(op.getRoped(), std::move(rotated[0]));
  return llvm::Error::success();
}

llvm::Error Frame::run(moe::AttentionOp op) {
  llvm::Expected<const FloatTensor *> q = get<FloatTensor>(op.getQ());
  if (!q)
    return q.takeError();
  llvm::Expected<const std::shared_ptr<KvCache> *> operand = get<std::shared_ptr<KvCache>>(op.getCache());
  if (!operand)
    return operand.takeError();
  llvm::Expected<const int64_t *> position = get<int64_t>(op.getPosition());
  if (!position)
    return position.takeError();
  std::shared_ptr<KvCache> cache = **operand;
  const KvShape &shape = cache->shape();
  int64_t tokens = (*q)->numRows(), heads = op.getHeads();
  if (**position < 0 || tokens > cache->numPositions() || **position > cache->numPositions() - tokens)
    return fault("expects the keys of positions up to " + llvm::Twine(**position) + " + " + llvm::Twine(tokens) +
                 " in the cache, but it has " + llvm::Twine(cache->numPositions()));
  FloatTensor o;
  o.shape = {tokens, heads * shape.valueDim};
  o.values.resize(o.shape[0] * o.shape[1]);
  float scale = op.getScale().convertToFloat();
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h)
      cache->attend(h / (heads / shape.heads), (*q)->row(t).slice(h * shape.keyDim, shape.keyDim), **position + t + 1,
                    scale, o.row(t).slice(h * shape.valueDim, shape.valueDim));
  set(op.getO(), std::move(o));
  set(op.getUpdated(), std::move(cache));
  return llvm::Error::success();
}

} // namespace moec
