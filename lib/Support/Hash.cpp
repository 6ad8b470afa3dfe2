// SPDX-License-Identifier: Apache-2.0
/// \file
/// The only place of the compiler that includes xxhash.h.
#include "lib/Support/Hash.h"

#include "lib/Support/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace moec {

uint64_t hash64(llvm::ArrayRef<uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Digest128 hash128(llvm::ArrayRef<uint8_t> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::array<uint8_t, 16> Digest128::toBytes() const {
  std::array<uint8_t, 16> bytes;
  llvm::support::endian::write64le(bytes.data(), low);
  llvm::support::endian::write64le(bytes.data() + 8, high);
  return bytes;
}

Digest128 Digest128::fromBytes(const std::array<uint8_t, 16> &bytes) {
  return {llvm::support::endian::read64le(bytes.data()), llvm::support::endian::read64le(bytes.data() + 8)};
}

std::string toHex(uint64_t hash) {
  std::string text(16, '0');
  for (unsigned i = 0; i < 16; ++i)
    text[i] = llvm::hexdigit((hash >> (60 - 4 * i)) & 15, /*LowerCase=*/true);
  return text;
}

std::string Digest128::toHex() const { return moec::toHex(high) + moec::toHex(low); }

std::optional<Digest128> Digest128::fromHex(llvm::StringRef text) {
  Digest128 digest;
  if (text.size() != 32 || !llvm::all_of(text, llvm::isHexDigit) || text.take_front(16).getAsInteger(16, digest.high) ||
      text.drop_front(16).getAsInteger(16, digest.low))
    return std::nullopt;
  return digest;
}

struct Hash128::State {
  XXH3_state_t value;
};

Hash128::Hash128() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->value); }
Hash128::Hash128(Hash128 &&) noexcept = default;
Hash128::~Hash128() = default;

void Hash128::update(llvm::ArrayRef<uint8_t> bytes) { XXH3_128bits_update(&state->value, bytes.data(), bytes.size()); }

Digest128 Hash128::digest() const {
  XXH128_hash_t hash = XXH3_128bits_digest(&state->value);
  return {hash.low64, hash.high64};
}

uint64_t Hash128::digest64() const { return XXH3_64bits_digest(&state->value); }

llvm::Expected<Digest128> hashFile(llvm::StringRef path) {
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  constexpr uint64_t kPieceBytes = 1 << 20;
  std::vector<uint8_t> buffer(static_cast<size_t>(std::min(kPieceBytes, file->sizeBytes())));
  Hash128 hash;
  for (uint64_t offset = 0; offset < file->sizeBytes(); offset += buffer.size()) {
    buffer.resize(static_cast<size_t>(std::min<uint64_t>(buffer.size(), file->sizeBytes() - offset)));
    if (llvm::Error error = file->read(offset, buffer))
      return std::move(error);
    hash.update(buffer);
  }
  return hash.digest();
}

} // namespace moec
