// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads numbers and texts from a gguf file one after the other. Part of Gguf.cpp, which reads files of any content.
#ifndef LIB_IMPORT_GGUFBYTES_H
#define LIB_IMPORT_GGUFBYTES_H

#include "lib/Support/Files.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"

#include <optional>
#include <vector>

namespace moec {

/// Keeps the first error; from then on every value is zero or empty and nothing moves.
class GgufBytes {
public:
  GgufBytes(const RandomAccessFile &file, llvm::StringRef name) : file(file), fileName(name.str()) {}

  const std::string &name() const { return fileName; }
  uint64_t sizeBytes() const { return file.sizeBytes(); }
  uint64_t position() const { return at; }
  uint64_t remaining() const { return file.sizeBytes() - at; }

  /// The next little-endian integer; `what` says in messages what it was to be.
  template <typename T> T take(llvm::StringRef what) {
    const uint8_t *found = next(sizeof(T), what);
    return found ? llvm::support::endian::read<T, llvm::endianness::little>(found) : T();
  }
  /// A length of 64 bits, then as many bytes, at most `maxBytes`.
  std::string takeText(llvm::StringRef what, uint64_t maxBytes);

  bool hasFailed() const { return message.has_value(); }
  /// Notes "<name>: <text>" unless there is an error.
  void fail(const llvm::Twine &text);
  llvm::Error takeError();

private:
  /// The next `numBytes`, at most kBufferBytes, or null.
  const uint8_t *next(uint64_t numBytes, llvm::StringRef what);
  bool isThere(uint64_t numBytes, llvm::StringRef what);

  static constexpr uint64_t kBufferBytes = 1 << 16;

  const RandomAccessFile &file;
  std::string fileName;
  uint64_t at = 0;
  std::vector<uint8_t> buffer; // bytes of the file from bufferBegin on
  uint64_t bufferBegin = 0;
  std::optional<std::string> message;
};

} // namespace moec
#endif
