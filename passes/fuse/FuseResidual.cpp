// SPDX-License-Identifier: Apache-2.0
/// \file
/// Adds the residual inside the product that it follows. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSERESIDUAL
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// arith.addf of a product P and a residual r, in either order, where P has no other use and no residual yet. The
/// fused op replaces the addition, so that r is available.
template <typename ProductOp> struct FoldAddition : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern<arith::AddFOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp add, PatternRewriter &rewriter) const override {
    for (auto [product, residual] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto op = product.template getDefiningOp<ProductOp>();
      if (!op || !op->hasOneUse() || op.getResidual() || residual.getType() != op.getY().getType())
        continue;
      auto fused = cast<ProductOp>(rewriter.clone(*op));
      rewriter.modifyOpInPlace(fused, [&, r = residual] { fused.getResidualMutable().assign(r); });
      rewriter.replaceOp(add, fused.getY());
      rewriter.eraseOp(op);
      return success();
    }
    return failure();
  }
};

struct FuseResidual : moe::impl::FuseResidualBase<FuseResidual> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldAddition<LinearOp>, FoldAddition<ExpertsOp>, FoldAddition<GateOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
