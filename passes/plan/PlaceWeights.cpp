// SPDX-License-Identifier: Apache-2.0
/// \file
/// Decides for each weight whether it is resident, paged by expert or streamed by rows, and where.
/// Main source: passes/plan/Passes.td, docs/pack-format.md.
#include "passes/plan/Passes.h"
#include "passes/plan/StoredWeight.h"

#include "include/moert/PackFormat.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_PLACEWEIGHTS
#include "passes/plan/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// Sums of bytes that refuse to wrap around.
class Cursor {
public:
  /// Reserves `bytes` at a multiple of `align`; nothing if the sum does not fit 2^62.
  std::optional<int64_t> take(int64_t bytes, int64_t align) {
    constexpr int64_t kLimit = int64_t(1) << 62;
    int64_t offset = llvm::alignTo(position, align);
    if (bytes < 0 || bytes > kLimit - offset)
      return std::nullopt;
    position = offset + bytes;
    return offset;
  }
  int64_t end(int64_t align) const { return llvm::alignTo(position, align); }

private:
  int64_t position = 0;
};

bool isExpert(Role role) { return role == Role::expert_gate || role == Role::expert_up || role == Role::expert_down; }

struct PlaceWeights : moe::impl::PlaceWeightsBase<PlaceWeights> {
  using PlaceWeightsBase::PlaceWeightsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<moec::LayoutFamily> family = familyOf(module);
    if (failed(family))
      return signalPassFailure();
    Cursor resident;
    int64_t recordBytes = 0, numRecords = 0, numTables = 0;
    llvm::MapVector<int64_t, Cursor> records; // by layer
    for (WeightOp weight : module.getOps<WeightOp>()) {
      FailureOr<StoredWeight> stored = storedWeightOf(weight, *family);
      if (failed(stored))
        return signalPassFailure();
      Attribute placement;
      std::optional<int64_t> offset = 0;
      if (isHeadEmbedding(weight)) {
        continue; // below, when the head has its place
      } else if (weight.getRole() == Role::embedding) {
        placement = rt::StreamedPlaceAttr::get(&getContext(), numTables++, stored->rowBytes);
      } else if (isExpert(weight.getRole())) {
        int64_t layer = weight.getLayer();
        if (!records.contains(layer))
          numRecords += weight.getTensorType().getDimSize(0);
        offset = records[layer].take(stored->bytes, MOEPACK_TENSOR_ALIGN);
        placement = rt::PagedPlaceAttr::get(&getContext(), offset.value_or(0), stored->bytes);
      } else {
        offset = resident.take(stored->bytes, MOEPACK_TENSOR_ALIGN);
        placement = rt::ResidentPlaceAttr::get(&getContext(), offset.value_or(0), stored->bytes);
      }
      if (!offset) {
        weight.emitOpError("makes the pack larger than 2^62 bytes");
        return signalPassFailure();
      }
      weight.setPlacementAttr(placement);
    }
    for (WeightOp weight : module.getOps<WeightOp>())
      if (isHeadEmbedding(weight))
        weight.setPlacementAttr(tiedHeadOf(weight).getPlacementAttr());
    for (auto &[layer, cursor] : records)
      recordBytes = std::max(recordBytes, cursor.end(MOEPACK_PAGE_BYTES));
    SmallVector<NamedAttribute> pack;
    Builder builder(&getContext());
    auto put = [&](StringRef key, int64_t value) {
      pack.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(value)));
    };
    RopeScalingAttr scaling;
    if (failed(placeTables(module, resident, put, scaling)))
      return signalPassFailure();
    if (scaling)
      pack.push_back(builder.getNamedAttr("rope_scaling", scaling));
    put("resident_bytes", resident.end(MOEPACK_TENSOR_ALIGN));
    put("record_bytes", recordBytes);
    put("num_expert_records", numRecords);
    put("num_tables", numTables);
    module->setAttr("rt.pack", builder.getDictionaryAttr(pack));
  }

  /// Places the cosine and sine tables of the model's rotary embedding; all layers share one pair. `scaling` is set to
  /// what stretches them.
  template <typename Put>
  LogicalResult placeTables(ModuleOp module, Cursor &resident, Put put, RopeScalingAttr &scaling) {
    RopeAppendOp first;
    WalkResult result = module.walk([&](RopeAppendOp op) {
      if (first && (op.getTheta() != first.getTheta() || op.getDim() != first.getDim() ||
                    op.getScaling() != first.getScaling())) {
        op.emitOpError("has other rotary parameters than another layer, which is not supported yet");
        return WalkResult::interrupt();
      }
      first = op;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    if (!first)
      return success();
    int64_t positions = first.getCache().getType().getCapacity(), half = first.getDim() / 2;
    auto cos = resident.take(positions * half * 4, MOEPACK_TENSOR_ALIGN);
    auto sin = resident.take(positions * half * 4, MOEPACK_TENSOR_ALIGN);
    if (!cos || !sin)
      return first.emitOpError("makes the pack larger than 2^62 bytes");
    put("rope_cos_offset", *cos);
    put("rope_sin_offset", *sin);
    put("rope_positions", positions);
    put("rope_half", half);
    // The exact value of theta, as the bits of a double.
    put("rope_theta_bits", first.getTheta().bitcastToAPInt().getSExtValue());
    scaling = first.getScalingAttr();
    return success();
  }
};

} // namespace
