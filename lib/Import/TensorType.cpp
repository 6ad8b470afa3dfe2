// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of element types.
#include "lib/Import/TensorType.h"

#include "lib/Support/CheckedMath.h"

namespace moec {

namespace {

struct TypeFacts {
  llvm::StringLiteral name;
  uint64_t bytes;
  uint64_t values = 1; // that these bytes hold
};

// In the order of TensorType.
constexpr TypeFacts kTypes[] = {{"BOOL", 1},      {"U8", 1},        {"I8", 1},        {"F8_E5M2", 1},    {"F8_E4M3", 1},
                                {"U16", 2},       {"I16", 2},       {"F16", 2},       {"BF16", 2},       {"U32", 4},
                                {"I32", 4},       {"F32", 4},       {"U64", 8},       {"I64", 8},        {"F64", 8},
                                {"Q8_0", 34, 32}, {"Q4_0", 18, 32}, {"Q4_1", 20, 32}, {"Q6_K", 210, 256}};

} // namespace

llvm::StringRef tensorTypeName(TensorType type) { return kTypes[static_cast<unsigned>(type)].name; }

TypeBlock tensorTypeBlock(TensorType type) {
  const TypeFacts &facts = kTypes[static_cast<unsigned>(type)];
  return {facts.values, facts.bytes};
}

std::optional<uint64_t> tensorTypeBytes(TensorType type, uint64_t count) {
  TypeBlock block = tensorTypeBlock(type);
  if (count % block.values)
    return std::nullopt;
  return checkedMul(count / block.values, block.bytes);
}

std::optional<TensorType> parseTensorType(llvm::StringRef name) {
  for (unsigned i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].name == name)
      return static_cast<TensorType>(i);
  return std::nullopt;
}

std::string formatShape(llvm::ArrayRef<uint64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace moec
