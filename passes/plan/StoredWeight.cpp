// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stored form of a `moe.weight`. Main source: docs/pack-format.md.
#include "passes/plan/StoredWeight.h"

#include "lib/Pack/RowFormat.h"

using namespace mlir;
using namespace mlir::moe;

FailureOr<StoredWeight> moe::storedWeightOf(WeightOp weight, moec::LayoutFamily family) {
  RankedTensorType type = weight.getTensorType();
  StoredWeight stored;
  stored.cols = type.getShape().back();
  stored.rows = type.getRank() == 1 ? 1 : type.getDimSize(type.getRank() - 2);
  llvm::Expected<moec::Encoding> encoding = moe::encodingOf(weight.getQuant());
  if (!encoding)
    return weight.emitOpError("'") << weight.getLabel() << "' " << llvm::toString(encoding.takeError());
  stored.encoding = *encoding;
  if (type.getRank() == 1) {
    if (weight.getQuant())
      return weight.emitOpError("'") << weight.getLabel() << "' expects a vector to stay f32, but got "
                                     << weight.getQuant();
    stored.bytes = stored.cols * 4;
    return stored;
  }
  auto layout = moec::Layout::create(family, stored.rows, stored.cols, stored.encoding, weight.getLabel());
  if (!layout)
    return weight.emitOpError(llvm::toString(layout.takeError()));
  stored.bytes = layout->totalBytes();
  stored.rowBytes = moec::rowPayloadBytes(stored.cols, stored.encoding);
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
