// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element types of checkpoint files, by the names that safetensors and gguf use.
#ifndef LIB_IMPORT_TENSORTYPE_H
#define LIB_IMPORT_TENSORTYPE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace moec {

/// The last four exist in gguf files only: blocks of consecutive values of a row with their scales (BlockTypes.h).
enum class TensorType : uint8_t {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64,
  Q8_0,
  Q4_0,
  Q4_1,
  Q6_K
};

/// "BF16", "F8_E4M3", "Q8_0", ...
llvm::StringRef tensorTypeName(TensorType type);
std::optional<TensorType> parseTensorType(llvm::StringRef name);

/// What a type stores together: one value, or a block.
struct TypeBlock {
  uint64_t values;
  uint64_t bytes;
};
TypeBlock tensorTypeBlock(TensorType type);
inline bool isBlockType(TensorType type) { return tensorTypeBlock(type).values != 1; }

/// Bytes of `count` values, or nothing if they are 2^64 or more or end within a block.
std::optional<uint64_t> tensorTypeBytes(TensorType type, uint64_t count);

/// F32, F16, BF16 and the block types: what the compiler reads as weights.
inline bool isWeightType(TensorType type) {
  return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16 || isBlockType(type);
}

/// "[256, 128]".
std::string formatShape(llvm::ArrayRef<uint64_t> shape);

} // namespace moec
#endif
