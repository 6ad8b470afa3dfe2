// SPDX-License-Identifier: Apache-2.0
/// \file
/// XXH3 with seed 0: 64 bits for records and rows of the pack, 128 bits for identities and source files.
#ifndef LIB_SUPPORT_HASH_H
#define LIB_SUPPORT_HASH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace moec {

uint64_t hash64(llvm::ArrayRef<uint8_t> bytes);

/// The result of XXH3-128.
struct Digest128 {
  uint64_t low = 0;
  uint64_t high = 0;

  bool operator==(const Digest128 &) const = default;

  /// As files hold it: the low word, then the high word, both little-endian.
  std::array<uint8_t, 16> toBytes() const;
  static Digest128 fromBytes(const std::array<uint8_t, 16> &bytes);
  /// 32 digits, the high word first, as `xxhsum -H2` prints it.
  std::string toHex() const;
  /// Nothing if `text` is not exactly 32 hexadecimal digits.
  static std::optional<Digest128> fromHex(llvm::StringRef text);
};

Digest128 hash128(llvm::ArrayRef<uint8_t> bytes);

/// XXH3-128 and XXH3-64 of a stream of pieces.
class Hash128 {
public:
  Hash128();
  Hash128(Hash128 &&) noexcept;
  ~Hash128();

  void update(llvm::ArrayRef<uint8_t> bytes);
  void update(llvm::StringRef text) { update(llvm::ArrayRef(text.bytes_begin(), text.size())); }
  /// The hash of everything so far; more may follow.
  Digest128 digest() const;
  /// `hash64` of everything so far: both hashes come from the same state.
  uint64_t digest64() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// 16 digits.
std::string toHex(uint64_t hash);

/// XXH3-128 of a whole file, read in pieces. Errors: as RandomAccessFile.
llvm::Expected<Digest128> hashFile(llvm::StringRef path);

} // namespace moec
#endif
