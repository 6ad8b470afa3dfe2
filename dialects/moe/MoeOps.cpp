// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifiers of the operations in MoeOps.td; the numbers are those of the constraints there.
/// Main source: dialects/moe/MoeOps.td.
#include "dialects/moe/MoeDialect.h"
#include "dialects/moe/Verify.h"
#include "lib/Quant/SourceEncoding.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::moe;

#define GET_OP_CLASSES
#include "dialects/moe/MoeOps.cpp.inc"

std::string WeightOp::getLabel(int64_t piece) {
  std::string number = piece < 0 ? "*" : std::to_string(piece);
  if (!getSource().getName())
    return getSymName().str() + (piece < 0 ? "" : "." + number);
  auto [before, after] = getSource().getName().getValue().split("{}");
  return getSource().getName().getValue().contains("{}") ? (before + number + after).str() : before.str();
}

std::string WeightOp::getTensorName(int64_t piece) { return StringRef(getLabel(piece)).split(':').first.str(); }

QuantAttr WeightOp::getQuant() { return moe::getQuant(getType()); }

bool WeightOp::isVerbatim() { return getRecipe() && getRecipe()->getMethod() == kVerbatim; }

WeightOp moe::tiedHeadOf(WeightOp embedding) {
  if (embedding.getRole() != Role::embedding)
    return {};
  for (WeightOp other : embedding->getParentOfType<ModuleOp>().getOps<WeightOp>())
    if (other.getRole() == Role::head && other.getSource() == embedding.getSource() &&
        other.getTensorType().getShape() == embedding.getTensorType().getShape())
      return other;
  return {};
}

bool moe::isHeadEmbedding(WeightOp embedding) {
  WeightOp head = tiedHeadOf(embedding);
  return head && head.getType() == embedding.getType() && head.getRecipe() == embedding.getRecipe();
}

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  // (C1)
  if (!type || !type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 3 || !type.getElementType().isF32())
    return emitOpError("expects a ranked f32 tensor of static shape and rank 1 to 3, but got ") << getType();
  // (C2)
  int64_t numPieces = getSource().getOffsets().size();
  if (numPieces < 1 || type.getDimSize(0) % numPieces)
    return emitOpError("expects a source whose number of pieces divides the ")
           << type.getDimSize(0) << " indices of the first axis, but got " << numPieces << " pieces for " << type;
  // (C3)
  if (QuantAttr quant = getQuant(); quant && quant.getGroup() && type.getShape().back() % quant.getGroup())
    return emitOpError("expects a group that divides the last dimension ")
           << type.getShape().back() << ", but got " << quant.getGroup();
  // (C4)
  if (isVerbatim()) {
    llvm::Expected<moec::Encoding> encoding = encodingOf(getQuant());
    if (!encoding || !moec::isVerbatim(getSource().getDtype(), *encoding)) {
      llvm::consumeError(encoding.takeError());
      return emitOpError("expects the encoding that holds the codes of ")
             << getSource().getDtype().getValue() << " for the recipe verbatim, but got " << type;
    }
  }
  return success();
}

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // (C1)
  auto weight = symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError("expects the name of a moe.weight, but got ") << getWeightAttr();
  // (C2)
  if (weight.getType() != getValue().getType())
    return emitOpError("expects the weight's type ") << weight.getType() << ", but got " << getValue().getType();
  return success();
}

LogicalResult EmbedOp::verify() {
  auto y = getY().getType();
  // (C1)
  if (y.getDimSize(1) != getTable().getType().getDimSize(1) || y.getDimSize(0) != getTokens().getType().getDimSize(0))
    return emitOpError("expects a result with one row a token and the table's ")
           << getTable().getType().getDimSize(1) << " columns, but got " << y;
  return success();
}

LogicalResult LinearOp::verify() {
  // (C1) (C2)
  if (failed(verifyProduct(*this, getX().getType(), getW().getType(), getY().getType())))
    return failure();
  // (C3)
  if (getBias() && getBias().getType().getDimSize(0) != getW().getType().getDimSize(0))
    return emitOpError("expects a bias of ")
           << getW().getType().getDimSize(0) << " values, but got " << getBias().getType();
  if (getResidual() && getResidual().getType() != getY().getType())
    return emitOpError("expects a residual of type ") << getY().getType() << ", but got " << getResidual().getType();
  return success();
}

LogicalResult RmsNormOp::verify() {
  // (C1)
  if (getX().getType() != getY().getType())
    return emitOpError("expects a result of type ") << getX().getType() << ", but got " << getY().getType();
  // (C2)
  if (getBlock() < 1 || getX().getType().getDimSize(1) % getBlock())
    return emitOpError("expects a weight whose length divides the ")
           << getX().getType().getDimSize(1) << " columns, but got " << getBlock();
  // (C3)
  return verifyPositive(*this, "eps", getEps().convertToDouble());
}

LogicalResult RopeOp::verify() {
  // (C1)
  if (getX().getType() != getY().getType())
    return emitOpError("expects a result of type ") << getX().getType() << ", but got " << getY().getType();
  // (C2)
  int64_t headDim = getHeadDim(), dim = getDim();
  if (headDim < 1 || getX().getType().getDimSize(1) % headDim || dim < 2 || dim % 2 || dim > headDim)
    return emitOpError("expects a head_dim that divides the ")
           << getX().getType().getDimSize(1) << " columns and an even dim up to it, but got head_dim " << headDim
           << " and dim " << dim;
  // (C3)
  return verifyPositive(*this, "theta", getTheta().convertToDouble());
}

LogicalResult CacheAppendOp::verify() {
  CacheType cache = getCache().getType();
  // (C1)
  int64_t keys = cache.getKvHeads() * cache.getQkDim(), values = cache.getKvHeads() * cache.getVDim();
  if (getK().getType().getDimSize(1) != keys || getV().getType().getDimSize(1) != values ||
      getK().getType().getDimSize(0) != getV().getType().getDimSize(0))
    return emitOpError("expects keys with ") << keys << " and values with " << values << " columns, but got "
                                             << getK().getType() << " and " << getV().getType();
  // (C2)
  return verifyLinear(*this, getCache());
}

LogicalResult AttentionOp::verify() {
  CacheType cache = getCache().getType();
  int64_t heads = getHeads();
  // (C1)
  if (heads < 1 || heads % cache.getKvHeads())
    return emitOpError("expects a number of heads that is a multiple of the ")
           << cache.getKvHeads() << " KV heads, but got " << heads;
  if (getQ().getType().getDimSize(1) != heads * cache.getQkDim() ||
      getO().getType().getDimSize(1) != heads * cache.getVDim() ||
      getQ().getType().getDimSize(0) != getO().getType().getDimSize(0))
    return emitOpError("expects queries with ")
           << heads * cache.getQkDim() << " and a result with " << heads * cache.getVDim() << " columns, but got "
           << getQ().getType() << " and " << getO().getType();
  // (C2)
  if (failed(verifyPositive(*this, "scale", getScale().convertToDouble())))
    return failure();
  // (C3)
  return verifyLinear(*this, getCache());
}

LogicalResult RouteOp::verify() {
  // (C1) (C2)
  return verifyRouting(*this, getLogits().getType().getDimSize(0), getLogits().getType().getDimSize(1), getK(),
                       getWeights().getType(), getIds().getType());
}

LogicalResult ExpertsOp::verify() {
  auto x = getX().getType(), y = getY().getType();
  auto gate = getGate().getType(), up = getUp().getType(), down = getDown().getType();
  int64_t experts = gate.getDimSize(0), inner = gate.getDimSize(1), hidden = gate.getDimSize(2);
  // (C1)
  if (up.getShape() != gate.getShape() || down.getShape() != ArrayRef<int64_t>({experts, hidden, inner}) ||
      x.getDimSize(1) != hidden || y.getShape() != x.getShape())
    return emitOpError("expects gate and up [E, I, H], down [E, H, I], x and y [T, H], but got ")
           << gate << ", " << up << ", " << down << ", " << x << ", " << y;
  // (C2)
  if (failed(verifyRouting(*this, x.getDimSize(0), experts, getIds().getType().getDimSize(1), getWeights().getType(),
                           getIds().getType())))
    return failure();
  // (C3)
  auto upInput = getXUp() ? cast<RankedTensorType>(getXUp().getType()) : x;
  if (getXUp() && (upInput.getShape() != x.getShape() || upInput.getEncoding() == x.getEncoding()))
    return emitOpError("expects x_up of the shape of x and in another encoding, but got ") << upInput << " and " << x;
  if (failed(verifyEncodings(*this, x, gate)) || failed(verifyEncodings(*this, upInput, up)))
    return failure();
  // (C4)
  if (getResidual() && getResidual().getType() != y)
    return emitOpError("expects a residual of type ") << y << ", but got " << getResidual().getType();
  return success();
}
