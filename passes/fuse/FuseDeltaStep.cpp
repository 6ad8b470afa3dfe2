// SPDX-License-Identifier: Apache-2.0
/// \file
/// Joins convolutions, norms, decay, delta rule and gated norm of a layer. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSEDELTASTEP
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// The op of type OpT that computes `value` for one user only, or null.
template <typename OpT> OpT onlyFor(Value value) { return value.hasOneUse() ? value.getDefiningOp<OpT>() : OpT(); }

/// A convolution with silu.
CausalConv1dOp matchConvolution(Value value) {
  auto convolution = onlyFor<CausalConv1dOp>(value);
  return convolution && convolution.getKind() == ActivationKind::silu ? convolution : CausalConv1dOp();
}

/// What a delta rule is computed from.
struct Parts {
  L2NormOp qNorm, kNorm;
  CausalConv1dOp q, k, v;
  DecayOp decay;
  ActivationOp beta;

  explicit Parts(DeltaRuleOp rule)
      : qNorm(onlyFor<L2NormOp>(rule.getQ())), kNorm(onlyFor<L2NormOp>(rule.getK())), v(matchConvolution(rule.getV())),
        decay(onlyFor<DecayOp>(rule.getG())), beta(onlyFor<ActivationOp>(rule.getBeta())) {
    q = qNorm ? matchConvolution(qNorm.getX()) : CausalConv1dOp();
    k = kNorm ? matchConvolution(kNorm.getX()) : CausalConv1dOp();
  }

  bool fit(DeltaRuleOp rule) {
    if (!q || !k || !v || !decay || !beta || beta.getKind() != ActivationKind::sigmoid)
      return false;
    int64_t block = rule.getState().getType().getShape()[1];
    return static_cast<int64_t>(qNorm.getBlock()) == block && static_cast<int64_t>(kNorm.getBlock()) == block &&
           qNorm.getEps() == kNorm.getEps() && q.getW().getType() == k.getW().getType() &&
           q.getW().getType().getDimSize(1) == v.getW().getType().getDimSize(1);
  }

  SmallVector<Operation *> all() { return {qNorm, kNorm, q, k, v, decay, beta}; }
};

/// Whether everything that reads a new state stands behind `op`, so that it can come from there.
bool statesAreReadBehind(Operation *op, Parts &parts, DeltaRuleOp rule) {
  for (Value state : {parts.q.getUpdated(), parts.k.getUpdated(), parts.v.getUpdated(), rule.getUpdated()})
    for (Operation *user : state.getUsers())
      if (user->getBlock() != op->getBlock() || !op->isBeforeInBlock(user))
        return false;
  return true;
}

struct JoinStep : OpRewritePattern<GatedNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatedNormOp norm, PatternRewriter &rewriter) const override {
    auto rule = onlyFor<DeltaRuleOp>(norm.getX());
    if (!rule || rule->getBlock() != norm->getBlock() || norm.getBlock() != rule.getState().getType().getShape()[2])
      return failure();
    Parts parts(rule);
    if (!parts.fit(rule) || !statesAreReadBehind(norm, parts, rule))
      return failure();
    for (Operation *op : parts.all())
      if (op->getBlock() != norm->getBlock())
        return failure();
    auto step = DeltaStepOp::create(
        rewriter, rule.getLoc(), norm.getY().getType(), parts.q.getUpdated().getType(), parts.k.getUpdated().getType(),
        parts.v.getUpdated().getType(), rule.getUpdated().getType(), parts.q.getX(), parts.k.getX(), parts.v.getX(),
        norm.getZ(), parts.decay.getA(), parts.beta.getX(), parts.q.getW(), parts.k.getW(), parts.v.getW(),
        parts.decay.getALog(), parts.decay.getDtBias(), norm.getW(), parts.q.getState(), parts.k.getState(),
        parts.v.getState(), rule.getState(), norm.getEpsAttr(), parts.qNorm.getEpsAttr(), rule.getScaleAttr(),
        norm.getKindAttr(), rule.getHeadMapAttr());
    rewriter.replaceOp(norm, step.getY());
    rewriter.replaceAllUsesWith(rule.getUpdated(), step.getUpdated());
    rewriter.replaceAllUsesWith(parts.q.getUpdated(), step.getQUpdated());
    rewriter.replaceAllUsesWith(parts.k.getUpdated(), step.getKUpdated());
    rewriter.replaceAllUsesWith(parts.v.getUpdated(), step.getVUpdated());
    rewriter.eraseOp(rule);
    for (Operation *op : parts.all())
      rewriter.eraseOp(op);
    return success();
  }
};

struct FuseDeltaStep : moe::impl::FuseDeltaStepBase<FuseDeltaStep> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinStep>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
