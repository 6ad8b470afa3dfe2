// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps of attention: rotation, append and the attention itself.
/// Part of the plan stage. Main source: docs/architecture.md ("Plan").
#include "passes/plan/StepPlanner.h"

#include "lib/Plan/KvLayout.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::moe;
using rt::Kind;

/// Splits of a KV head's positions: work for as many threads as a phone has performance cores, also with few KV heads.
static constexpr int64_t kMostSplits = 8;

/// Key and value codes of a cache, as `spec` entries need it.
static std::string elemName(CacheType cache) {
  Type type = cache.getElem();
  return (type.isInteger() ? "i" : "f") + std::to_string(type.getIntOrFloatBitWidth());
}

LogicalResult StepPlanner::planRopeAppend(RopeAppendOp op) {
  CacheType cache = op.getCache().getType();
  if (!op.getQ().hasOneUse())
    return op.emitOpError("expects queries with one use, so that they can be rotated in place");
  if (op.getStyle() != RopeStyle::half)
    return op.emitOpError("has a rotary style that has no step on the device yet");
  int64_t layer = layerOfCache.lookup(op.getCache());
  SmallVector<Value> ins;
  for (Value value : {op.getQ(), op.getK(), op.getV()})
    ins.push_back(viewsOf.lookup(value).front());
  for (Value norm : {Value(op.getQNorm()), Value(op.getKNorm())})
    if (norm) {
      FailureOr<Value> view = weightView(op, norm);
      if (failed(view))
        return failure();
      ins.push_back(*view);
    }
  for (StringRef table : {"cos", "sin"}) {
    auto entry = pack.getAs<IntegerAttr>(("rope_" + table + "_offset").str());
    if (!entry)
      return op.emitOpError("expects rotary tables in rt.pack; run moe-place-weights first");
    ins.push_back(
        program->makeResident({cache.getCapacity(), int64_t(op.getDim()) / 2}, builder.getF32Type(), entry.getInt()));
  }
  ins.push_back(program->makeKvWindow());
  Value region = program->makeKv(kv.numBlocks * kv.blockBytes, kv.layerOffsets[layer]);
  program->compute(Kind::rope_append, ins, {region},
                   {set("heads", op.getQ().getType().getDimSize(1) / cache.getQkDim()),
                    set("kv_heads", cache.getKvHeads()), set("qk_dim", cache.getQkDim()), set("v_dim", cache.getVDim()),
                    set("dim", int64_t(op.getDim())), set("eps", op.getEps()), set("norms", bool(op.getQNorm())),
                    set("unit_offset", op.getUnitOffset()), set("elem", elemName(cache)),
                    set("block_bytes", kv.blockBytes)});
  viewsOf[op.getRoped()] = viewsOf.lookup(op.getQ());
  layerOfCache[op.getUpdated()] = layer;
  return success();
}

LogicalResult StepPlanner::planAttention(AttentionOp op) {
  CacheType cache = op.getCache().getType();
  int64_t layer = layerOfCache.lookup(op.getCache());
  viewsOf[op.getO()] = makeViews(op.getO().getType());
  Value region = program->makeKv(kv.numBlocks * kv.blockBytes, kv.layerOffsets[layer]);
  int64_t heads = op.getHeads(), maxSpans = llvm::divideCeil(cache.getCapacity(), moec::kAttentionSpanPositions);
  // Tokens are tiles. A single one is split where its context may be long.
  int64_t splits = tokens == 1 && maxSpans > 1 ? std::min(maxSpans, kMostSplits) : 0;
  Views results = viewsOf[op.getO()];
  if (splits > 0) {
    moec::KvLayout layout;
    layout.valueDim = cache.getVDim();
    layout.element = cache.getElem().isInteger(4) ? moec::KvElement::i4 : moec::KvElement::i8;
    int64_t lanes = layout.valueLanes();
    results = {program->makeBuffer({maxSpans, heads, lanes}, builder.getF32Type()),
               program->makeBuffer({maxSpans, 2, heads}, builder.getF32Type())};
  }
  program->compute(Kind::attention, {viewsOf.lookup(op.getQ()).front(), region, program->makeKvWindow()}, results,
                   {set("heads", heads), set("kv_heads", cache.getKvHeads()), set("qk_dim", cache.getQkDim()),
                    set("v_dim", cache.getVDim()), set("scale", op.getScale()), set("elem", elemName(cache)),
                    set("block_bytes", kv.blockBytes), set("splits", splits)});
  if (splits > 0) {
    program->nextStep();
    program->compute(Kind::merge_spans, {results[0], results[1], program->makeKvWindow()}, viewsOf[op.getO()],
                     {set("heads", heads), set("v_dim", cache.getVDim()), set("elem", elemName(cache))});
  }
  layerOfCache[op.getUpdated()] = layer;
  return success();
}
