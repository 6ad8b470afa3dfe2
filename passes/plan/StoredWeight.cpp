// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stored form of a `moe.weight`. Main source: docs/pack-format.md.
#include "passes/plan/StoredWeight.h"

using namespace mlir;
using namespace mlir::moe;

FailureOr<StoredWeight> moe::storedWeightOf(WeightOp weight, moec::LayoutFamily family) {
  RankedTensorType type = weight.getTensorType();
  StoredWeight stored;
  stored.cols = type.getShape().back();
  stored.rows = type.getRank() == 1 ? 1 : type.getDimSize(type.getRank() - 2);
  if (QuantAttr quant = weight.getQuant()) {
    if (quant.getMinimum() || (quant.getScheme() != Scheme::i8 && quant.getScheme() != Scheme::i4))
      return weight.emitOpError("has encoding ") << quant << ", which has no layout yet";
    stored.encoding =
        quant.getScheme() == Scheme::i8 ? moec::Encoding::i8(quant.getGroup()) : moec::Encoding::i4(quant.getGroup());
  }
  if (type.getRank() == 1) {
    stored.bytes = stored.cols * 4;
    return stored;
  }
  auto layout = moec::Layout::create(family, stored.rows, stored.cols, stored.encoding, weight.getLabel());
  if (!layout)
    return weight.emitOpError(llvm::toString(layout.takeError()));
  stored.bytes = layout->totalBytes();
  int64_t codeBytes = stored.cols * stored.encoding.bits() / 8, scaleBytes = stored.encoding.numGroups(stored.cols) * 2;
  stored.rowBytes = (codeBytes + scaleBytes + 3) / 4 * 4;
  return stored;
}

FailureOr<moec::LayoutFamily> moe::familyOf(ModuleOp module) {
  auto target = module->getAttrOfType<DictionaryAttr>("moe.target");
  auto name = target ? target.getAs<StringAttr>("family") : StringAttr();
  if (name && name.getValue() == "arm64")
    return moec::LayoutFamily::Arm64;
  if (name && name.getValue() == "x86")
    return moec::LayoutFamily::X86;
  return module.emitError("expects moe.target with a family of arm64 or x86");
}
