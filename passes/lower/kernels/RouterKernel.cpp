// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: scores of a router and the selection of the experts of a token. Step: lower.
/// Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

#include <cmath>
#include <cstdint>

using namespace mlir;

namespace moec {

llvm::Error check(const RouterSpec &spec) {
  if (spec.maxTokens < 1 || spec.topK < 1 || spec.topK > spec.experts)
    return llvm::createStringError("router expects at least 1 token and 1 <= top-k <= experts, but got %lld tokens, "
                                   "top-k %lld and %lld experts",
                                   (long long)spec.maxTokens, (long long)spec.topK, (long long)spec.experts);
  return llvm::Error::success();
}

namespace {

/// Keys are integers in the order of the scores. No candidate has the lowest one.
constexpr int64_t kTakenKey = INT32_MIN;
constexpr int64_t kNanKey = INT32_MIN + 1;

struct RouterEmitter {
  FloatBuilder &f;
  const RouterSpec &spec;
  Value logits, ids, weights;
  Value ranks;  // ranks in use
  Value scores; // scratch f32 [experts]
  Value keys;   // scratch i32 [experts rounded up to 16]

  Value softmaxLargest(Value token) {
    Value lowest = f.constantLike(f.zeroVector(), -INFINITY);
    return f.treeMax(f.overVectors(spec.experts, lowest, [&](Value column, int64_t width, ValueRange carried) {
      Value x = f.loadVector(logits, {token, column}, width);
      if (width < kFloatLanes) {
        Value tail = f.maxIgnoringNan(x, f.firstLanes(carried[0], width));
        return FloatBuilder::Values{f.padded(tail, carried[0])};
      }
      return FloatBuilder::Values{f.maxIgnoringNan(x, carried[0])};
    })[0]);
  }

  void emitSoftmax(Value token) {
    Value largest = softmaxLargest(token);
    Value partials = f.overVectors(spec.experts, f.zeroVector(), [&](Value column, int64_t width, ValueRange carried) {
      Value x = f.loadVector(logits, {token, column}, width);
      Value p = f.exp(f.subf(x, f.splat(largest, width)));
      f.storeVector(p, scores, {column});
      return FloatBuilder::Values{f.addf(carried[0], f.padded(p))};
    })[0];
    Value sum = f.treeSum(partials);
    f.overVectors(spec.experts, [&](Value column, int64_t width) {
      f.storeVector(f.divf(f.loadVector(scores, {column}, width), f.splat(sum, width)), scores, {column});
    });
  }

  void emitPointwise(Value token) {
    f.overVectors(spec.experts, [&](Value column, int64_t width) {
      Value x = f.loadVector(logits, {token, column}, width);
      if (spec.score == RouterScore::sigmoid) {
        Value one = f.constantLike(x, 1.0f);
        x = f.divf(one, f.addf(one, f.exp(f.subf(f.constantLike(x, -0.0f), x))));
      }
      f.storeVector(x, scores, {column});
    });
  }

  void emitKeys() {
    OpBuilder &builder = f.getBuilder();
    Location location = scores.getLoc();
    f.storeVector(f.integerLike(f.vectorOf(f.i32()), kTakenKey), keys, {f.index((spec.experts - 1) / 16 * 16)});
    f.overVectors(spec.experts, [&](Value column, int64_t width) {
      Value x = f.loadVector(scores, {column}, width);
      Value isNan = f.compare(arith::CmpFPredicate::UNO, x, x);
      // Adding +0 joins the two zeros, so that they tie.
      x = f.addf(x, f.constantLike(x, 0.0f));
      Type type = f.vectorOf(f.i32(), width);
      Value bits = vector::BitCastOp::create(builder, location, type, x);
      Value flipped = arith::XOrIOp::create(builder, location, bits, f.integerLike(type, 0x7fffffff));
      Value isNegative = f.compare(arith::CmpIPredicate::slt, bits, f.integerLike(type, 0));
      Value key = f.select(isNegative, flipped, bits);
      f.storeVector(f.select(isNan, f.integerLike(type, kNanKey), key), keys, {column});
    });
  }

  /// The number of the largest key; the lowest number among equals.
  Value emitBest() {
    OpBuilder &builder = f.getBuilder();
    Location location = scores.getLoc();
    VectorType type = f.vectorOf(f.i32());
    Value lowest = f.integerLike(type, kTakenKey), lanes = f.laneNumbers();
    auto best = f.loop(f.index(0), f.index((spec.experts + 15) / 16 * 16), kFloatLanes, {lowest, lanes},
                       [&](Value column, ValueRange carried) {
                         Value key = f.loadVector(keys, {column});
                         Value number = f.add(lanes, f.splat(f.indexToI32(column)));
                         Value isBetter = f.compare(arith::CmpIPredicate::sgt, key, carried[0]);
                         return FloatBuilder::Values{f.select(isBetter, key, carried[0]),
                                                     f.select(isBetter, number, carried[1])};
                       });
    Value top = vector::ReductionOp::create(builder, location, vector::CombiningKind::MAXSI, best[0]);
    Value isTop = f.compare(arith::CmpIPredicate::eq, best[0], f.splat(top));
    Value numbers = f.select(isTop, best[1], f.integerLike(type, INT32_MAX));
    return vector::ReductionOp::create(builder, location, vector::CombiningKind::MINSI, numbers);
  }

  void emitToken(Value token) {
    if (spec.score == RouterScore::softmax)
      emitSoftmax(token);
    else
      emitPointwise(token);
    emitKeys();
    auto sum = f.loop(f.index(0), ranks, 1, f.constant(0.0f), [&](Value rank, ValueRange carried) {
      Value id = emitBest();
      Value expert = f.i32ToIndex(id);
      Value weight = f.load(scores, {expert});
      f.store(f.integerLike(f.i32(), kTakenKey), keys, {expert});
      f.store(id, ids, {token, rank});
      f.store(weight, weights, {token, rank});
      return FloatBuilder::Values{f.addf(carried[0], weight)};
    });
    f.loop(ranks, f.index(spec.topK), 1, [&](Value rank) {
      f.store(f.integerLike(f.i32(), -1), ids, {token, rank});
      f.store(f.constant(0.0f), weights, {token, rank});
    });
    if (!spec.renormalize && spec.factor == 1.0f)
      return;
    Value divisor = spec.renormEpsilon == 0.0f ? sum[0] : f.addf(sum[0], f.constant(spec.renormEpsilon));
    f.loop(f.index(0), ranks, 1, [&](Value rank) {
      Value weight = f.load(weights, {token, rank});
      if (spec.renormalize)
        weight = f.divf(weight, divisor);
      if (spec.factor != 1.0f)
        weight = f.mulf(weight, f.constant(spec.factor));
      f.store(weight, weights, {token, rank});
    });
  }
};

} // namespace

func::FuncOp buildRouterTopk(KernelContext &context, ModuleOp module, StringRef name, const RouterSpec &spec) {
  Builder builder(module.getContext());
  Type logits = MemRefType::get({spec.maxTokens, spec.experts}, builder.getF32Type());
  Type ids = MemRefType::get({spec.maxTokens, spec.topK}, builder.getI32Type());
  Type weights = MemRefType::get({spec.maxTokens, spec.topK}, builder.getF32Type());
  Type memrefs[] = {logits, ids, weights};
  return buildFloatKernel(context, module, name, memrefs, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    int64_t padded = (spec.experts + kFloatLanes - 1) / kFloatLanes * kFloatLanes;
    RouterEmitter emitter{f,
                          spec,
                          a.memrefs[0],
                          a.memrefs[1],
                          a.memrefs[2],
                          a.count,
                          f.scratch(padded, f.f32()),
                          f.scratch(padded, f.i32())};
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) { emitter.emitToken(token); });
  });
}

} // namespace moec
