// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `rt` dialect: dialect class, attributes, types and operations. Main source: docs/architecture.md.
#ifndef DIALECTS_RT_RTDIALECT_H
#define DIALECTS_RT_RTDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/rt/RtDialect.h.inc"
#include "dialects/rt/RtEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RtAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RtTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/rt/RtOps.h.inc"

#endif
