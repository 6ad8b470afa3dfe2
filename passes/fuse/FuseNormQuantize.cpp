// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lets a normalization emit the int8 activation of its result. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSENORMQUANTIZE
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct EmitCodes : OpRewritePattern<QuantizeActOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeActOp quantize, PatternRewriter &rewriter) const override {
    auto norm = quantize.getX().getDefiningOp<RmsNormOp>();
    if (!norm || norm.getBlock() != norm.getX().getType().getDimSize(1))
      return failure();
    rewriter.setInsertionPoint(norm);
    auto fused = NormQuantizeOp::create(rewriter, norm.getLoc(), norm.getY().getType(), quantize.getY().getType(),
                                        norm.getX(), norm.getW(), norm.getEpsAttr(), norm.getUnitOffsetAttr());
    rewriter.replaceOp(quantize, fused.getQ());
    rewriter.replaceOp(norm, fused.getY());
    return success();
  }
};

struct FuseNormQuantize : moe::impl::FuseNormQuantizeBase<FuseNormQuantize> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<EmitCodes>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
