// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registers the `moe` dialect's types, attributes and operations. Main source: docs/architecture.md.
#include "dialects/moe/MoeDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

#include "dialects/moe/MoeDialect.cpp.inc"
#include "dialects/moe/MoeEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/moe/MoeAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/moe/MoeTypes.cpp.inc"

void MoeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/moe/MoeAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/moe/MoeTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/moe/MoeOps.cpp.inc"
      >();
}

QuantAttr moe::getQuant(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<QuantAttr>(tensor.getEncoding()) : QuantAttr();
}

ActAttr moe::getAct(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<ActAttr>(tensor.getEncoding()) : ActAttr();
}
