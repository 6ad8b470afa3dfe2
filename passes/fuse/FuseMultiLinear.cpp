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
    // Products by activation, those with a bias apart, in program order; the first product's place takes the fused op,
    // so every weight must be defined before it: parameters have no operands and can be moved up.
    llvm::MapVector<std::pair<Value, unsigned>, SmallVector<LinearOp>> groups;
    auto isParameter = [](Value value) { return !value || value.getDefiningOp<ParamOp>(); };
    getOperation().walk([&](LinearOp linear) {
      if (!linear.getResidual() && isParameter(linear.getW()) && isParameter(linear.getBias()))
        groups[{linear.getX(), linear.getBias() ? 1 : 0}].push_back(linear);
    });
    for (auto &[key, products] : groups) {
      if (products.size() < 2 ||
          llvm::any_of(products, [&](LinearOp p) { return p->getBlock() != products[0]->getBlock(); }))
        continue;
      OpBuilder builder(products[0]);
      SmallVector<Value> weights, biases;
      SmallVector<Type> types;
      for (LinearOp product : products) {
        product.getW().getDefiningOp()->moveBefore(products[0]);
        weights.push_back(product.getW());
        if (Value bias = product.getBias()) {
          bias.getDefiningOp()->moveBefore(products[0]);
          biases.push_back(bias);
        }
        types.push_back(product.getY().getType());
      }
      auto fused = MultiLinearOp::create(builder, products[0].getLoc(), types, key.first, weights, biases);
      for (auto [product, y] : llvm::zip_equal(products, fused.getYs())) {
        product.getY().replaceAllUsesWith(y);
        product.erase();
      }
    }
  }
};

} // namespace
