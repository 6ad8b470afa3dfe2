// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifiers of the operations in MoeFusedOps.td, and the checks shared with MoeOps.cpp.
/// Main source: dialects/moe/MoeFusedOps.td.
#include "dialects/moe/MoeDialect.h"
#include "dialects/moe/Verify.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::moe;

//===-- Shared checks ---------------------------------------------------------------------------------------------===//

LogicalResult moe::verifyEncodings(Operation *op, RankedTensorType x, RankedTensorType w) {
  QuantAttr quant = getQuant(w);
  ActAttr act = getAct(x);
  bool isInteger = quant && quant.isInteger();
  if (isInteger != bool(act))
    return op->emitOpError("expects an encoded activation with integer weights and only then, but got ")
           << x << " and " << w;
  if (isInteger && quant.getGroup() != act.getGroup())
    return op->emitOpError("expects activation groups of ")
           << quant.getGroup() << " as in the weight, but got " << act.getGroup();
  return success();
}

LogicalResult moe::verifyProduct(Operation *op, RankedTensorType x, RankedTensorType w, RankedTensorType y) {
  if (x.getDimSize(1) != w.getDimSize(1) || y.getDimSize(1) != w.getDimSize(0) || x.getDimSize(0) != y.getDimSize(0))
    return op->emitOpError("expects x [T, K], W [N, K] and y [T, N], but got ") << x << ", " << w << " and " << y;
  if (y.getEncoding())
    return op->emitOpError("expects a result without encoding, but got ") << y;
  return verifyEncodings(op, x, w);
}

bool moe::isStoredFloat(RankedTensorType w) { return !w.getEncoding() || (getQuant(w) && !getQuant(w).isInteger()); }

LogicalResult moe::verifyPositive(Operation *op, StringRef name, double value) {
  if (!(value > 0) || !std::isfinite(value))
    return op->emitOpError("expects a positive finite ") << name << ", but got " << value;
  return success();
}

LogicalResult moe::verifyLinear(Operation *op, Value value) {
  if (!value.hasOneUse())
    return op->emitOpError("expects the ")
           << (isa<CacheType>(value.getType()) ? "cache" : "state") << " to be used once, but it has "
           << std::distance(value.use_begin(), value.use_end()) << " uses";
  return success();
}

LogicalResult moe::verifyRouting(Operation *op, int64_t tokens, int64_t experts, int64_t k, RankedTensorType weights,
                                 RankedTensorType ids) {
  if (k < 1 || k > experts)
    return op->emitOpError("expects 1 to ") << experts << " experts per token, but got " << k;
  if (weights.getShape() != ArrayRef<int64_t>({tokens, k}) || ids.getShape() != weights.getShape())
    return op->emitOpError("expects weights and ids of ")
           << k << " columns, one row a token, but got " << weights << " and " << ids;
  return success();
}

//===-- Fused operations ------------------------------------------------------------------------------------------===//

LogicalResult QuantizeActOp::verify() {
  // (C1)
  if (getX().getType().getEncoding() || !getAct(getY().getType()) ||
      getX().getType().getShape() != getY().getType().getShape())
    return emitOpError("expects a #moe.act result of the operand's shape, but got ")
           << getX().getType() << " to " << getY().getType();
  return success();
}

LogicalResult NormQuantizeOp::verify() {
  auto x = getX().getType();
  // (C1)
  if (getY().getType() != x || getBlock() != x.getDimSize(1))
    return emitOpError("expects a weight of ") << x.getDimSize(1) << " values and a result of type " << x
                                               << ", but got " << getW().getType() << " and " << getY().getType();
  // (C2)
  if (!getAct(getQ().getType()) || getQ().getType().getShape() != x.getShape())
    return emitOpError("expects a #moe.act result of the operand's shape, but got ") << getQ().getType();
  // (C3)
  return verifyPositive(*this, "eps", getEps().convertToDouble());
}

LogicalResult MultiLinearOp::verify() {
  // (C1)
  if (getWeights().size() < 2 || getWeights().size() != getYs().size())
    return emitOpError("expects at least two weights and as many results, but got ")
           << getWeights().size() << " and " << getYs().size();
  // (C2)
  for (auto [w, y] : llvm::zip_equal(getWeights(), getYs()))
    if (failed(verifyProduct(*this, getX().getType(), cast<RankedTensorType>(w.getType()),
                             cast<RankedTensorType>(y.getType()))))
      return failure();
  // (C3)
  if (!getBiases().empty() && getBiases().size() != getWeights().size())
    return emitOpError("expects no bias or one for each of the ")
           << getWeights().size() << " weights, but got " << getBiases().size();
  for (auto [bias, w] : llvm::zip(getBiases(), getWeights()))
    if (cast<RankedTensorType>(bias.getType()).getDimSize(0) != cast<RankedTensorType>(w.getType()).getDimSize(0))
      return emitOpError("expects a bias of ")
             << cast<RankedTensorType>(w.getType()).getDimSize(0) << " values, but got " << bias.getType();
  return success();
}

LogicalResult RopeAppendOp::verify() {
  CacheType cache = getCache().getType();
  int64_t keys = cache.getKvHeads() * cache.getQkDim(), values = cache.getKvHeads() * cache.getVDim();
  // (C1)
  if (getQ().getType().getDimSize(1) % cache.getQkDim() || getK().getType().getDimSize(1) != keys ||
      getV().getType().getDimSize(1) != values || getRoped().getType() != getQ().getType())
    return emitOpError("expects queries in heads of ")
           << cache.getQkDim() << ", keys with " << keys << " and values with " << values << " columns, but got "
           << getQ().getType() << ", " << getK().getType() << ", " << getV().getType();
  // (C2)
  if (bool(getQNorm()) != bool(getKNorm()) || (getQNorm() && (getQNorm().getType().getDimSize(0) != cache.getQkDim() ||
                                                              getKNorm().getType().getDimSize(0) != cache.getQkDim())))
    return emitOpError("expects both norms or none, of length ") << cache.getQkDim();
  // (C3)
  if (getDim() < 2 || getDim() % 2 || static_cast<int64_t>(getDim()) > cache.getQkDim())
    return emitOpError("expects an even dim up to ") << cache.getQkDim() << ", but got " << getDim();
  if (failed(verifyPositive(*this, "theta", getTheta().convertToDouble())))
    return failure();
  // (C4)
  return verifyLinear(*this, getCache());
}

LogicalResult RouterTopkOp::verify() {
  auto x = getX().getType(), w = getW().getType();
  // (C1)
  if (x.getDimSize(1) != w.getDimSize(1) || x.getEncoding() || !isStoredFloat(w))
    return emitOpError("expects x [T, H] in f32 and W [E, H] in f32 or f16, but got ") << x << " and " << w;
  // (C2)
  return verifyRouting(*this, x.getDimSize(0), w.getDimSize(0), getK(), getWeights().getType(), getIds().getType());
}

LogicalResult PredictExpertsOp::verify() {
  auto x = getX().getType(), w = getW().getType();
  // (C1)
  if (x.getDimSize(0) != 1 || x.getEncoding() || getNorm().getType().getDimSize(0) != x.getDimSize(1) ||
      w.getDimSize(1) != x.getDimSize(1) || !isStoredFloat(w))
    return emitOpError("expects x [1, H] in f32, a norm [H] and W [E, H] in f32 or f16, but got ")
           << x << ", " << getNorm().getType() << " and " << w;
  // (C2)
  if (static_cast<int64_t>(getK()) < 1 || static_cast<int64_t>(getK()) > w.getDimSize(0))
    return emitOpError("expects 1 to ") << w.getDimSize(0) << " experts per token, but got "
                                        << static_cast<int64_t>(getK());
  // (C3)
  if (static_cast<int64_t>(getLayer()) < 0)
    return emitOpError("expects a layer from 0, but got ") << static_cast<int64_t>(getLayer());
  return verifyPositive(*this, "eps", getEps().convertToDouble());
}

//===-- Canonical forms -------------------------------------------------------------------------------------------===//

LogicalResult NormQuantizeOp::canonicalize(NormQuantizeOp op, PatternRewriter &rewriter) {
  if (!op.getQ().use_empty())
    return failure();
  auto norm = RmsNormOp::create(rewriter, op.getLoc(), op.getY().getType(), op.getX(), op.getW(), op.getEpsAttr(),
                                op.getUnitOffsetAttr());
  rewriter.replaceAllUsesWith(op.getY(), norm.getY());
  rewriter.eraseOp(op);
  return success();
}

LogicalResult MultiLinearOp::canonicalize(MultiLinearOp op, PatternRewriter &rewriter) {
  SmallVector<Value> weights, biases, kept;
  SmallVector<Type> types;
  for (auto [index, w, y] : llvm::enumerate(op.getWeights(), op.getYs()))
    if (!y.use_empty()) {
      weights.push_back(w);
      if (!op.getBiases().empty())
        biases.push_back(op.getBiases()[index]);
      kept.push_back(y);
      types.push_back(y.getType());
    }
  if (kept.empty() || kept.size() == op.getYs().size())
    return failure();
  ValueRange ys;
  if (kept.size() == 1)
    ys = LinearOp::create(rewriter, op.getLoc(), types[0], op.getX(), weights[0], biases.empty() ? Value() : biases[0],
                          Value())
             ->getResults();
  else
    ys = MultiLinearOp::create(rewriter, op.getLoc(), types, op.getX(), weights, biases).getYs();
  for (auto [before, after] : llvm::zip_equal(kept, ys))
    rewriter.replaceAllUsesWith(before, after);
  rewriter.eraseOp(op);
  return success();
}
