// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values of tensors that no file holds: a pure function of (seed, tensor name, element index), in integer arithmetic
/// and one exact rounding, so that every machine gets the same bits. Main source: docs/synthetic-models.md.
#ifndef LIB_SYNTH_RANDOMTENSOR_H
#define LIB_SYNTH_RANDOMTENSOR_H

#include "lib/Synth/Routing.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// How a value is stored: rounded to nearest even from its exact value, which has at most 19 bits.
enum class RandomType : uint8_t { BF16, F16, F32 };

/// "BF16", "F16", "F32": the names of safetensors.
llvm::StringRef nameOf(RandomType type);
uint64_t bytesOf(RandomType type);

/// Which generated checkpoint a tensor belongs to.
struct RandomKind {
  RandomKind(uint64_t seed = 0, bool isZeroCentred = false, Routing routing = {})
      : seed(seed), isZeroCentred(isZeroCentred), routing(routing) {}
  bool operator==(const RandomKind &) const = default;

  uint64_t seed;
  bool isZeroCentred; ///< norms multiply by 1 + w
  Routing routing;
};

/// One tensor. A matrix has a bell-shaped spread around 0 with a standard deviation of 1 / sqrt(columns), so that
/// products keep the magnitude of their input. A vector lies within 1/16 around 1 (a norm, `dt_bias`) or around 0 (a
/// bias, a zero-centred norm); `A_log` lies within 1 around -2, so that a token's memory halves in 2 to 20 tokens.
///
/// Values: word j of the tensor is output j of SplitMix64 started at a key of (seed, name). It gives elements 2 j and
/// 2 j + 1: each is the sum of four bytes (Irwin-Hall, close to normal, at most 3.5 standard deviations), minus 510,
/// times an integer and a power of two.
/// Threads: all functions are const and re-entrant. Cost: a few cycles a value, from any index.
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (SplitMix64).
class RandomTensor {
public:
  static RandomTensor matrix(uint64_t seed, llvm::StringRef name, uint64_t columns);
  static RandomTensor vector(uint64_t seed, llvm::StringRef name);
  /// A tensor of a checkpoint: a vector, whose name says around what, or a matrix, or several. With skewed routing
  /// embeddings, routers and what is added to the residual stream have other values, by name.
  static RandomTensor ofShape(const RandomKind &kind, llvm::StringRef name, llvm::ArrayRef<uint64_t> shape);

  /// Elements [first, first + out.size()) as they read back from storage in `type`.
  void values(RandomType type, uint64_t first, llvm::MutableArrayRef<float> out) const;
  /// The same as little-endian bytes; out.size() is a multiple of bytesOf(type).
  void bytes(RandomType type, uint64_t first, llvm::MutableArrayRef<uint8_t> out) const;

private:
  RandomTensor(uint64_t seed, llvm::StringRef name, int32_t center, int32_t factor, float unit);
  static RandomTensor skewed(const RandomKind &kind, llvm::StringRef name, llvm::ArrayRef<uint64_t> shape);
  std::vector<float> routerColumn(Routing routing, llvm::StringRef name, uint64_t numExperts) const;
  void putFirstColumn(uint64_t first, llvm::MutableArrayRef<float> out) const;

  uint64_t key;
  int32_t center, factor; ///< value = (center + factor * (sum of four bytes - 510)) * unit
  float unit;             ///< a power of two
  /// What stands in the first column instead, row by row and again from the start; empty: as everywhere.
  std::vector<float> firstColumn;
  uint64_t columns = 1; ///< of a tensor with another first column
};

/// What the IR calls a generated file: "random:SEED", with ":zero_centred" and with ":zipf:S:TOPK" behind it where they
/// apply. Changes with the generator, so that an older IR is refused.
std::string randomKind(const RandomKind &kind);
/// The kind, or nothing if `text` is no such text.
std::optional<RandomKind> parseRandomKind(llvm::StringRef text);

} // namespace moec

#endif
