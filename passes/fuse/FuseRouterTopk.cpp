// SPDX-License-Identifier: Apache-2.0
/// \file
/// Joins the router's product with score and selection. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSEROUTERTOPK
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct JoinRouter : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RouteOp route, PatternRewriter &rewriter) const override {
    auto linear = route.getLogits().getDefiningOp<LinearOp>();
    if (!linear || !linear->hasOneUse() || linear.getBias() || linear.getResidual() ||
        moe::getAct(linear.getX().getType()))
      return failure();
    rewriter.replaceOpWithNewOp<RouterTopkOp>(
        route, route.getWeights().getType(), route.getIds().getType(), linear.getX(), linear.getW(), route.getKAttr(),
        route.getScoreAttr(), route.getRenormalizeAttr(), route.getRenormEpsAttr(), route.getFactorAttr());
    rewriter.eraseOp(linear);
    return success();
  }
};

struct FuseRouterTopk : moe::impl::FuseRouterTopkBase<FuseRouterTopk> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinRouter>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
