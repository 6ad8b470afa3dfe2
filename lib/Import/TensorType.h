// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types of checkpoint files, by the names that safetensors uses.
#ifndef LIB_IMPORT_TENSORTYPE_H
#define LIB_IMPORT_TENSORTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace moec {

enum class TensorType : uint8_t { Bool, U8, I8, F8E5M2, F8E4M3, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64 };

/// "BF16", "F8_E4M3", ...
llvm::StringRef tensorTypeName(TensorType type);
std::optional<TensorType> parseTensorType(llvm::StringRef name);
uint64_t tensorTypeBytes(TensorType type);

/// F32, F16 and BF16: what the compiler reads as weights.
inline bool isWeightType(TensorType type) {
  return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16;
}

/// "[256, 128]".
std::string formatShape(llvm::ArrayRef<uint64_t> shape);

} // namespace moec
#endif
