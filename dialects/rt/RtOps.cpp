// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifiers of the `rt` operations; the numbers are those of the constraints in RtOps.td.
/// Main source: dialects/rt/RtOps.td.
#include "dialects/rt/RtDialect.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::rt;

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

static LogicalResult verifyOffset(Operation *op, int64_t offset) {
  if (offset < 0 || offset % 64)
    return op->emitOpError("expects an offset from 0 that is a multiple of 64, but got ") << offset;
  return success();
}

static bool isBytes(MemRefType type) { return type.getRank() == 1 && type.getElementType().isInteger(8); }

LogicalResult ArenaOp::verify() {
  // (C1)
  return verifyOffset(*this, getOffset());
}

LogicalResult ResidentOp::verify() {
  // (C1)
  return verifyOffset(*this, getOffset());
}

LogicalResult KvOp::verify() {
  // (C1)
  if (!isBytes(getView().getType()))
    return emitOpError("expects a one-dimensional view of bytes, but got ") << getView().getType();
  return verifyOffset(*this, getOffset());
}

LogicalResult StateOp::verify() {
  // (C1)
  if (!getView().getType().getElementType().isF32())
    return emitOpError("expects a view of f32, but got ") << getView().getType();
  return verifyOffset(*this, getOffset());
}

LogicalResult KvWindowOp::verify() {
  // (C1)
  MemRefType type = getView().getType();
  if (type.getShape() != ArrayRef<int64_t>({4}) || !type.getElementType().isInteger(32))
    return emitOpError("expects a view memref<4xi32>, but got ") << type;
  return success();
}

LogicalResult TokensOp::verify() {
  // (C1)
  MemRefType type = getView().getType();
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return emitOpError("expects a one-dimensional view of i32, but got ") << type;
  return success();
}

LogicalResult ReadRowsOp::verify() {
  // (C1)
  if (!isBytes(getDestination().getType()))
    return emitOpError("expects a one-dimensional destination of bytes, but got ") << getDestination().getType();
  return success();
}

LogicalResult PollOp::verify() {
  // (C1)
  if (static_cast<int64_t>(getLayer()) < 0)
    return emitOpError("expects a layer from 0, but got ") << static_cast<int64_t>(getLayer());
  return success();
}

namespace {
/// What a kind of `rt.compute` needs: the table in its description.
struct KindNeeds {
  size_t numIns, numOuts;
  SmallVector<const char *> keys; // owned: the array of an initializer_list would die with needsOf
};
} // namespace

static KindNeeds needsOf(Kind kind) {
  switch (kind) {
  case Kind::embed:
    return {1, 1, {"columns", "row_bytes", "encoding"}};
  case Kind::gather:
    return {2, 1, {"rows", "columns", "encoding"}};
  case Kind::tile_max:
    return {1, 1, {}};
  case Kind::norm:
    return {2, 1, {"eps", "unit_offset", "group", "emit_float"}};
  case Kind::quantize:
    return {1, 3, {"group"}};
  case Kind::linear:
    return {2, 1, {"rows", "columns", "encoding", "bias", "residual"}};
  case Kind::rope_append:
    return {
        6, 1, {"heads", "kv_heads", "qk_dim", "v_dim", "dim", "eps", "norms", "unit_offset", "elem", "block_bytes"}};
  case Kind::attention:
    return {3, 1, {"heads", "kv_heads", "qk_dim", "v_dim", "scale", "elem", "block_bytes", "splits"}};
  case Kind::merge_spans:
    return {3, 1, {"heads", "v_dim", "elem"}};
  case Kind::route:
    return {1, 2, {"experts", "k", "score", "renormalize", "renorm_eps", "factor"}};
  case Kind::gate_up:
    return {3, 1, {"inner", "hidden", "encoding", "up_encoding", "down_group", "gate_offset", "up_offset", "top_k"}};
  case Kind::down:
    return {3, 1, {"inner", "hidden", "encoding", "down_offset", "top_k"}};
  case Kind::combine:
    return {3, 1, {"k"}};
  case Kind::glu:
    return {2, 1, {"glu", "group"}};
  case Kind::gate:
    return {2, 1, {"activation", "group", "residual"}};
  case Kind::conv:
    return {2, 2, {"silu", "encoding"}};
  case Kind::delta_rule:
    return {7, 2, {"key_heads", "value_heads", "qk_dim", "v_dim", "l2_eps", "scale", "head_map"}};
  case Kind::gated_norm:
    return {3, 1, {"value_heads", "v_dim", "eps", "activation", "group"}};
  case Kind::delta_step:
    return {12,
            5,
            {"silu", "encoding", "key_heads", "value_heads", "qk_dim", "v_dim", "l2_eps", "scale", "head_map", "eps",
             "activation", "group"}};
  }
  return {0, 0, {}};
}

LogicalResult ComputeOp::verify() {
  KindNeeds needs = needsOf(getKind());
  // (C1)
  for (const char *key : needs.keys)
    if (!getSpec().contains(key))
      return emitOpError("expects the key '") << key << "' in the spec of kind " << stringifyKind(getKind());
  // (C2)
  if (getIns().size() < needs.numIns || getOuts().size() < needs.numOuts)
    return emitOpError("expects at least ")
           << needs.numIns << " ins and " << needs.numOuts << " outs for kind " << stringifyKind(getKind())
           << ", but got " << getIns().size() << " and " << getOuts().size();
  return success();
}

LogicalResult ParallelOp::verify() {
  // (C1)
  if (getBody().front().empty())
    return emitOpError("expects at least one rt.compute in its region");
  for (Operation &op : getBody().front())
    if (!isa<ComputeOp>(op))
      return emitOpError("expects only rt.compute in its region, but got ") << op.getName();
  return success();
}

/// Whether a launch has tiles for each expert.
bool LaunchOp::isPerExpert() {
  auto tiles = getTiles().empty() ? TilesAttr() : dyn_cast<TilesAttr>(getTiles()[0]);
  return tiles && tiles.getPer() == Per::expert;
}

LogicalResult ExpertsOp::verify() {
  Block &body = getBody().front();
  // (C1)
  auto typeOf = [&](unsigned index) { return dyn_cast<MemRefType>(body.getArgument(index).getType()); };
  if (body.getNumArguments() != 2 || !typeOf(0) || !typeOf(1) || !isBytes(typeOf(0)) || typeOf(1).getRank() != 1 ||
      !typeOf(1).getElementType().isInteger(32))
    return emitOpError("expects a body with two arguments, the record (bytes) and the pairs (i32)");
  auto usesArgument = [&](Operation &op) {
    bool result = false;
    op.walk([&](Operation *step) {
      result |= llvm::any_of(step->getOperands(), [&](Value value) { return value.getParentBlock() == &body; });
    });
    return result;
  };
  // (C2)
  int numPhases = 0, numOthers = 0;
  // Whatever a layer is here: rt.prefetch (C2) is checked later.
  llvm::SmallSet<uint64_t, 4> guessedLayers;
  for (Operation &op : body) {
    // (C3)
    if (auto prefetch = dyn_cast<PrefetchOp>(op)) {
      if (!guessedLayers.insert(prefetch.getLayer()).second || usesArgument(op))
        return op.emitOpError(
            "expects to be the only one for its layer in its rt.experts, and to use none of the body's arguments");
      continue;
    }
    auto compute = dyn_cast<ComputeOp>(op);
    bool isKind = compute && (compute.getKind() == Kind::gate_up || compute.getKind() == Kind::down);
    if (!isKind && !isa<LaunchOp, ParallelOp>(op))
      return emitOpError("expects rt.compute of kinds gate_up and down, rt.parallel, or rt.launch, but got ")
             << op.getName();
    auto launch = dyn_cast<LaunchOp>(op);
    if (isKind || (launch && launch.isPerExpert())) {
      bool isLate = numPhases == 2 || (numPhases == 1 && isKind && compute.getKind() == Kind::gate_up);
      if (isLate || (launch && launch.getKernels().size() != 1))
        return op.emitOpError("expects to be one of at most two steps for each expert, gate_up and then down");
      numPhases = isKind && compute.getKind() == Kind::down ? 2 : numPhases + 1;
      continue;
    }
    if (usesArgument(op) || ++numOthers > 1)
      return op.emitOpError("expects to be the only step that is not for each expert, and to use none");
  }
  return success();
}

LogicalResult PrefetchOp::verify() {
  // (C1)
  auto type = cast<MemRefType>(getIds().getType());
  if (type.getRank() != 2 || type.getDimSize(0) != 1 || !type.getElementType().isInteger(32))
    return emitOpError("expects one row of i32 as ids, but got ") << type;
  // (C2)
  if (static_cast<int64_t>(getLayer()) < 0)
    return emitOpError("expects a layer from 0, but got ") << static_cast<int64_t>(getLayer());
  // (C3)
  if (getBody().front().empty())
    return emitOpError("expects at least one step in its body");
  for (Operation &op : getBody().front())
    if (!isa<ComputeOp, LaunchOp>(op))
      return emitOpError("expects only rt.compute or rt.launch in its body, but got ") << op.getName();
  return success();
}

LogicalResult LaunchOp::verify() {
  size_t numKernels = getKernels().size();
  int64_t total = 0;
  for (int64_t segment : getSegments())
    total += segment;
  // (C1)
  if (getTiles().size() != numKernels || getSegments().size() != numKernels || total != int64_t(getArgs().size()) ||
      !llvm::all_of(getTiles(), llvm::IsaPred<TilesAttr>))
    return emitOpError("expects tiles and a segment for each of its ")
           << numKernels << " kernels, and segments that add up to its " << getArgs().size() << " arguments";
  // (C2)
  for (Attribute kernel : getKernels()) {
    auto name = cast<SymbolRefAttr>(kernel);
    if (name.getRootReference() != "kernels" || name.getNestedReferences().size() != 1)
      return emitOpError("expects the name of a function in @kernels, but got ") << name;
  }
  return success();
}
