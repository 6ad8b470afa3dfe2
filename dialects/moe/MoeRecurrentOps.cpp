// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifiers of the operations in MoeRecurrentOps.td; the numbers are those of the constraints there.
/// Main source: dialects/moe/MoeRecurrentOps.td.
#include "dialects/moe/MoeDialect.h"
#include "dialects/moe/Verify.h"

using namespace mlir;
using namespace mlir::moe;

namespace {

/// The activations have no encoding and as many rows as the first.
LogicalResult verifyPlain(Operation *op, std::initializer_list<RankedTensorType> types) {
  for (RankedTensorType type : types) {
    if (type.getEncoding())
      return op->emitOpError("expects activations without encoding, but got ") << type;
    if (type.getDimSize(0) != types.begin()->getDimSize(0))
      return op->emitOpError("expects as many rows as in ") << *types.begin() << ", but got " << type;
  }
  return success();
}

/// x [T, C] and w [C, K] fit the state [K - 1, C].
LogicalResult verifyConvolution(Operation *op, RankedTensorType x, RankedTensorType w, StateType state) {
  int64_t columns = x.getDimSize(1), kernel = w.getDimSize(1);
  if (w.getDimSize(0) != columns || !isStoredFloat(w) || kernel < 2)
    return op->emitOpError("expects a weight of f32 or f16 [") << columns << ", K] with K of at least 2, but got " << w;
  if (!state.getElem().isF32() || state.getShape() != ArrayRef<int64_t>({kernel - 1, columns}))
    return op->emitOpError("expects an f32 state of shape [")
           << kernel - 1 << ", " << columns << "], but got " << state;
  return success();
}

/// q and k [T, Hk · Dk], v [T, Hv · Dv] and the state [Hv, Dk, Dv] fit.
LogicalResult verifyHeads(Operation *op, RankedTensorType q, RankedTensorType v, StateType state) {
  if (!state.getElem().isF32() || state.getShape().size() != 3)
    return op->emitOpError("expects an f32 state of shape [Hv, Dk, Dv], but got ") << state;
  int64_t valueHeads = state.getShape()[0], keyDim = state.getShape()[1], valueDim = state.getShape()[2];
  if (v.getDimSize(1) != valueHeads * valueDim)
    return op->emitOpError("expects values with ") << valueHeads * valueDim << " columns, but got " << v;
  int64_t keyHeads = q.getDimSize(1) / keyDim;
  if (q.getDimSize(1) % keyDim || keyHeads < 1 || valueHeads % keyHeads)
    return op->emitOpError("expects queries and keys in heads of ")
           << keyDim << ", as many as divide the " << valueHeads << " value heads, but got " << q;
  return success();
}

LogicalResult verifyDecay(Operation *op, RankedTensorType a, RankedTensorType log, RankedTensorType bias) {
  if (log.getDimSize(0) < 1 || a.getDimSize(1) % log.getDimSize(0))
    return op->emitOpError("expects an A_log whose length divides the ")
           << a.getDimSize(1) << " columns, but got " << log;
  if (bias.getDimSize(0) != a.getDimSize(1))
    return op->emitOpError("expects a dt_bias of ") << a.getDimSize(1) << " values, but got " << bias;
  return success();
}

LogicalResult verifyRates(Operation *op, StringRef name, RankedTensorType rate, StateType state, bool perChannel) {
  int64_t heads = state.getShape()[0], channels = heads * state.getShape()[1];
  int64_t columns = rate.getDimSize(1);
  if (columns == heads || (perChannel && columns == channels))
    return success();
  InFlightDiagnostic error = op->emitOpError("expects ") << name << " with " << heads;
  if (perChannel)
    error << " or " << channels;
  return error << " columns, but got " << rate;
}

} // namespace

//===-- Gates -----------------------------------------------------------------------------------------------------===//

LogicalResult ActivationOp::verify() {
  // (C1)
  return verifyPlain(*this, {getX().getType()});
}

LogicalResult GluOp::verify() {
  // (C1)
  return verifyPlain(*this, {getGate().getType()});
}

LogicalResult GateOp::verify() {
  auto x = getX().getType(), g = getG().getType();
  // (C1)
  if (failed(verifyPlain(*this, {x, g})))
    return failure();
  if (g.getDimSize(0) != x.getDimSize(0) || (g.getDimSize(1) != x.getDimSize(1) && g.getDimSize(1) != 1))
    return emitOpError("expects a gate of the shape of ") << x << " or with one column, but got " << g;
  // (C2)
  if (getResidual() && getResidual().getType() != getY().getType())
    return emitOpError("expects a residual of type ") << getY().getType() << ", but got " << getResidual().getType();
  return success();
}

//===-- Gated DeltaNet --------------------------------------------------------------------------------------------===//

LogicalResult CausalConv1dOp::verify() {
  // (C1) (C2)
  if (failed(verifyPlain(*this, {getX().getType()})) ||
      failed(verifyConvolution(*this, getX().getType(), getW().getType(), getState().getType())))
    return failure();
  // (C3)
  return verifyLinear(*this, getState());
}

LogicalResult L2NormOp::verify() {
  auto x = getX().getType();
  // (C1)
  if (failed(verifyPlain(*this, {x})))
    return failure();
  if (static_cast<int64_t>(getBlock()) < 1 || x.getDimSize(1) % static_cast<int64_t>(getBlock()))
    return emitOpError("expects a block that divides the ") << x.getDimSize(1) << " columns, but got " << getBlock();
  // (C2)
  return verifyPositive(*this, "eps", getEps().convertToDouble());
}

LogicalResult DecayOp::verify() {
  // (C1) (C2)
  if (failed(verifyPlain(*this, {getA().getType()})))
    return failure();
  return verifyDecay(*this, getA().getType(), getALog().getType(), getDtBias().getType());
}

LogicalResult DeltaRuleOp::verify() {
  StateType state = getState().getType();
  // (C1)
  if (failed(verifyPlain(*this, {getQ().getType(), getV().getType(), getG().getType(), getBeta().getType()})) ||
      failed(verifyHeads(*this, getQ().getType(), getV().getType(), state)))
    return failure();
  // (C2)
  if (failed(verifyRates(*this, "beta", getBeta().getType(), state, false)) ||
      failed(verifyRates(*this, "g", getG().getType(), state, true)))
    return failure();
  // (C3)
  if (failed(verifyPositive(*this, "scale", getScale().convertToDouble())))
    return failure();
  // (C4)
  return verifyLinear(*this, getState());
}

LogicalResult GatedNormOp::verify() {
  auto x = getX().getType();
  // (C1)
  if (failed(verifyPlain(*this, {x})))
    return failure();
  if (getBlock() < 1 || x.getDimSize(1) % getBlock())
    return emitOpError("expects a weight whose length divides the ")
           << x.getDimSize(1) << " columns, but got " << getBlock();
  // (C2)
  return verifyPositive(*this, "eps", getEps().convertToDouble());
}

LogicalResult DeltaStepOp::verify() {
  StateType state = getState().getType();
  // (C1)
  if (failed(verifyPlain(*this, {getQ().getType(), getV().getType(), getA().getType(), getB().getType()})))
    return failure();
  for (auto [x, w, window] : {std::tuple(getQ().getType(), getQConv().getType(), getQState().getType()),
                              std::tuple(getK().getType(), getKConv().getType(), getKState().getType()),
                              std::tuple(getV().getType(), getVConv().getType(), getVState().getType())})
    if (failed(verifyConvolution(*this, x, w, window)))
      return failure();
  if (getQConv().getType() != getKConv().getType() ||
      getQConv().getType().getDimSize(1) != getVConv().getType().getDimSize(1) ||
      getQConv().getType().getEncoding() != getVConv().getType().getEncoding())
    return emitOpError("expects convolutions of one length and encoding, but got ")
           << getQConv().getType() << ", " << getKConv().getType() << ", " << getVConv().getType();
  // (C2)
  if (failed(verifyHeads(*this, getQ().getType(), getV().getType(), state)) ||
      failed(verifyRates(*this, "b", getB().getType(), state, false)) ||
      failed(verifyRates(*this, "a", getA().getType(), state, true)))
    return failure();
  // (C3)
  if (failed(verifyDecay(*this, getA().getType(), getALog().getType(), getDtBias().getType())))
    return failure();
  if (getW().getType().getDimSize(0) != state.getShape()[2])
    return emitOpError("expects a norm of ") << state.getShape()[2] << " values, but got " << getW().getType();
  // (C4)
  for (auto [name, value] :
       {std::pair("eps", getEps()), std::pair("l2_eps", getL2Eps()), std::pair("scale", getScale())})
    if (failed(verifyPositive(*this, name, value.convertToDouble())))
      return failure();
  // (C5)
  for (Value value : {Value(getQState()), Value(getKState()), Value(getVState()), Value(getState())})
    if (failed(verifyLinear(*this, value)))
      return failure();
  return success();
}
