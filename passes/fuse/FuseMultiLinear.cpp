// SPDX-License-Identifier: Apache-2.0
/// \file
/// Joins products of the same activation into one task region. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::moe {
#define GEN_PASS_DEF_FUSEMULTILINEAR
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct FuseMultiLinear : moe::impl::FuseMultiLinearBase<FuseMultiLinear> {
  void runOnOperation() override {
    // Products by activation, in program order; the first product's place takes the fused op, so every weight must be
    // defined before it: parameters have no operands and can be moved up.
    llvm::MapVector<Value, SmallVector<LinearOp>> groups;
    getOperation().walk([&](LinearOp linear) {
      if (!linear.getBias() && !linear.getResidual() && linear.getW().getDefiningOp<ParamOp>())
        groups[linear.getX()].push_back(linear);
    });
    for (auto &[x, products] : groups) {
      if (products.size() < 2 ||
          llvm::any_of(products, [&](LinearOp p) { return p->getBlock() != products[0]->getBlock(); }))
        continue;
      OpBuilder builder(products[0]);
      SmallVector<Value> weights;
      SmallVector<Type> types;
      for (LinearOp product : products) {
        product.getW().getDefiningOp()->moveBefore(products[0]);
        weights.push_back(product.getW());
        types.push_back(product.getY().getType());
      }
      auto fused = MultiLinearOp::create(builder, products[0].getLoc(), types, x, weights, ValueRange());
      for (auto [product, y] : llvm::zip_equal(products, fused.getYs())) {
        product.getY().replaceAllUsesWith(y);
        product.erase();
      }
    }
  }
};

} // namespace
