// SPDX-License-Identifier: Apache-2.0
/// \file
/// Byte offsets of the fields that generated code reads, taken from the ABI header itself. Part of the lower stage.
/// Main source: include/moert/Generated.h.
#ifndef PASSES_LOWER_ABILAYOUT_H
#define PASSES_LOWER_ABILAYOUT_H

#include "include/moert/Generated.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <cstddef>

namespace mlir::rt {

/// Short forms for LLVM-dialect code on addresses and 64-bit integers.
class AddressBuilder {
public:
  AddressBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Type pointer() { return LLVM::LLVMPointerType::get(builder.getContext()); }
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
  }
  Value constant32(int32_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(value));
  }
  /// The address `base` + `offset` bytes.
  Value at(Value base, int64_t offset) {
    return offset == 0 ? base
                       : LLVM::GEPOp::create(builder, loc, pointer(), builder.getI8Type(), base,
                                             ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(offset))});
  }
  Value at(Value base, Value offset) {
    return LLVM::GEPOp::create(builder, loc, pointer(), builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(offset)});
  }
  Value load(Type type, Value base, int64_t offset) {
    return LLVM::LoadOp::create(builder, loc, type, at(base, offset));
  }
  Value load64(Value base, int64_t offset) { return load(builder.getI64Type(), base, offset); }
  Value loadPointer(Value base, int64_t offset) { return load(pointer(), base, offset); }
  Value multiply(Value a, Value b) { return LLVM::MulOp::create(builder, loc, a, b); }
  Value add(Value a, Value b) { return LLVM::AddOp::create(builder, loc, a, b); }
  Value subtract(Value a, Value b) { return LLVM::SubOp::create(builder, loc, a, b); }
  Value smaller(Value a, Value b) { return LLVM::SMinOp::create(builder, loc, a, b); }
  Value larger(Value a, Value b) { return LLVM::SMaxOp::create(builder, loc, a, b); }
  Value isLess(Value a, Value b) { return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, a, b); }

private:
  OpBuilder &builder;
  Location loc;
};

} // namespace mlir::rt

#endif
