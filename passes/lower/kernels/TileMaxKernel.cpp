// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: the largest logit of each tile, from which the sampler chooses what to look at. Step: lower. Main source:
/// include/moert/Generated.h.
#include "include/moert/Generated.h"
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace moec {

llvm::Error check(const TileMaxSpec &spec) {
  if (spec.maxTokens < 1 || spec.columns < 1)
    return llvm::createStringError("tile_max expects at least 1 token and 1 column, but got %lld and %lld",
                                   (long long)spec.maxTokens, (long long)spec.columns);
  return llvm::Error::success();
}

/// The largest of `count` values of x from [token, first] on.
static Value largestOf(FloatBuilder &f, Value x, Value token, Value first, int64_t count) {
  // So many maxima at a time that none waits for the one before.
  constexpr int64_t kChains = 4, kStep = kChains * kFloatLanes;
  Value lowest = f.constantLike(f.zeroVector(), -std::numeric_limits<float>::infinity());
  FloatBuilder::Values chains(kChains, lowest);
  int64_t whole = count / kStep * kStep;
  auto take = [&](Value column, int64_t width, Value largest) {
    return f.maxIgnoringNan(f.padded(f.loadVector(x, {token, column}, width), lowest), largest);
  };
  if (whole)
    chains = f.loop(f.index(0), f.index(whole), kStep, chains, [&](Value at, ValueRange carried) {
      FloatBuilder::Values next;
      for (int64_t chain = 0; chain < kChains; ++chain)
        next.push_back(take(f.add(f.add(first, at), chain * kFloatLanes), kFloatLanes, carried[chain]));
      return next;
    });
  for (int64_t at = whole; at < count; at += kFloatLanes)
    chains[0] = take(f.add(first, at), std::min(kFloatLanes, count - at), chains[0]);
  Value largest = chains[0];
  for (int64_t chain = 1; chain < kChains; ++chain)
    largest = f.maxIgnoringNan(chains[chain], largest);
  return f.treeMax(largest);
}

func::FuncOp buildTileMax(KernelContext &context, ModuleOp module, StringRef name, const TileMaxSpec &spec) {
  constexpr int64_t kTile = MOERT_LOGIT_TILE;
  Type element = Float32Type::get(module.getContext());
  int64_t whole = spec.columns / kTile, rest = spec.columns % kTile;
  Type x = MemRefType::get({spec.maxTokens, spec.columns}, element);
  Type maxima = MemRefType::get({spec.maxTokens, whole + (rest != 0)}, element);
  return buildFloatKernel(context, module, name, {x, maxima}, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      if (whole)
        f.loop(f.index(0), f.index(whole), 1, [&](Value tile) {
          f.store(largestOf(f, a.memrefs[0], token, f.multiply(tile, kTile), kTile), a.memrefs[1], {token, tile});
        });
      if (rest)
        f.store(largestOf(f, a.memrefs[0], token, f.index(whole * kTile), rest), a.memrefs[1], {token, f.index(whole)});
    });
  });
}

} // namespace moec
