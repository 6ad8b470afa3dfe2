// SPDX-License-Identifier: Apache-2.0
/// \file
/// Joins head norms, rotary embedding and cache append. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSEROPEAPPEND
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// A rotated value and, where there is one, the head norm before the rotation.
struct Rotated {
  RopeOp rope;
  RmsNormOp norm;
  Value input() { return norm ? norm.getX() : rope.getX(); }
};

std::optional<Rotated> matchRotated(Value value, int64_t headDim) {
  Rotated rotated{value.getDefiningOp<RopeOp>(), {}};
  if (!rotated.rope || static_cast<int64_t>(rotated.rope.getHeadDim()) != headDim)
    return std::nullopt;
  auto norm = rotated.rope.getX().getDefiningOp<RmsNormOp>();
  if (norm && norm.getBlock() == headDim)
    rotated.norm = norm;
  return rotated;
}

bool sameRotation(RopeOp a, RopeOp b) {
  return a.getDim() == b.getDim() && a.getTheta() == b.getTheta() && a.getStyle() == b.getStyle() &&
         a.getScaling() == b.getScaling() && a.getPosition() == b.getPosition();
}

bool sameNorm(RmsNormOp a, RmsNormOp b) {
  return bool(a) == bool(b) && (!a || (a.getEps() == b.getEps() && a.getUnitOffset() == b.getUnitOffset()));
}

struct JoinAppend : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp attention, PatternRewriter &rewriter) const override {
    auto append = attention.getCache().getDefiningOp<CacheAppendOp>();
    if (!append || append.getPosition() != attention.getPosition())
      return failure();
    int64_t headDim = append.getCache().getType().getQkDim();
    auto q = matchRotated(attention.getQ(), headDim), k = matchRotated(append.getK(), headDim);
    if (!q || !k || !sameRotation(q->rope, k->rope) || q->rope.getPosition() != append.getPosition())
      return failure();
    // A norm over all heads looks like a head norm where there is one head; both stay apart then.
    if (!sameNorm(q->norm, k->norm))
      q->norm = k->norm = RmsNormOp();
    rewriter.setInsertionPoint(attention);
    Value none;
    auto eps = q->norm ? q->norm.getEpsAttr() : rewriter.getF32FloatAttr(1.0e-6f);
    auto fused = RopeAppendOp::create(
        rewriter, append.getLoc(), attention.getQ().getType(), append.getCache().getType(), q->input(), k->input(),
        append.getV(), append.getCache(), append.getPosition(), q->norm ? q->norm.getW() : none,
        k->norm ? k->norm.getW() : none, q->rope.getDimAttr(), q->rope.getThetaAttr(), eps,
        q->norm ? q->norm.getUnitOffsetAttr() : UnitAttr(), q->rope.getStyleAttr(), q->rope.getScalingAttr());
    rewriter.modifyOpInPlace(attention, [&] {
      attention.getQMutable().assign(fused.getRoped());
      attention.getCacheMutable().assign(fused.getUpdated());
    });
    rewriter.eraseOp(append);
    return success();
  }
};

struct FuseRopeAppend : moe::impl::FuseRopeAppendBase<FuseRopeAppend> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinAppend>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
