// SPDX-License-Identifier: Apache-2.0
/// \file
/// Registers the `rt` dialect's types, attributes and operations. Main source: docs/architecture.md.
#include "dialects/rt/RtDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::rt;

#include "dialects/rt/RtDialect.cpp.inc"
#include "dialects/rt/RtEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RtAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/rt/RtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RtOps.cpp.inc"
      >();
}

LogicalResult TilesAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count, Per per) {
  if (count < 1)
    return emitError() << "expects at least one tile, but got " << count;
  return success();
}
