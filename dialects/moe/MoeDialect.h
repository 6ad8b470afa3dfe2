// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `moe` dialect: dialect class, attributes, types and operations. Main source: docs/architecture.md.
#ifndef DIALECTS_MOE_MOEDIALECT_H
#define DIALECTS_MOE_MOEDIALECT_H

#include "lib/Plan/RopeTable.h"
#include "lib/Quant/Encoding.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/moe/MoeDialect.h.inc"
#include "dialects/moe/MoeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/moe/MoeAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/moe/MoeTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/moe/MoeOps.h.inc"

namespace mlir::moe {
/// The method of a `#moe.recipe` that stores the codes of the source.
inline constexpr llvm::StringLiteral kVerbatim = "verbatim";

/// The head that an embedding is tied to: it has the same source. Null for other weights and untied models.
WeightOp tiedHeadOf(WeightOp embedding);
/// Whether the head of a tied model serves as its embedding too: both have one encoding and are made in the same way.
bool isHeadEmbedding(WeightOp embedding);

/// The weight encoding of a tensor type, or null for plain f32.
QuantAttr getQuant(Type type);
/// The activation encoding of a tensor type, or null.
ActAttr getAct(Type type);

/// What `#moe.q` says, as the algorithms know it; f32 for null. Errors: a scheme that has no stored form.
llvm::Expected<moec::Encoding> encodingOf(QuantAttr quant);
/// The inverse: null for f32.
QuantAttr quantOf(MLIRContext *context, const moec::Encoding &encoding);
/// What `#moe.rope_scaling` says, as lib/Plan knows it; none for null.
moec::RopeScaling ropeScalingOf(RopeScalingAttr scaling);
} // namespace mlir::moe

#endif
