// SPDX-License-Identifier: Apache-2.0
/// \file
/// Buffered reading of a gguf header.
#include "lib/Import/GgufBytes.h"

#include "lib/Support/Fault.h"

#include <algorithm>
#include <cstring>

namespace moec {

void GgufBytes::fail(const llvm::Twine &text) {
  if (!message)
    message = (fileName + ": " + text).str();
}

llvm::Error GgufBytes::takeError() { return message ? fault(*message) : llvm::Error::success(); }

bool GgufBytes::isThere(uint64_t numBytes, llvm::StringRef what) {
  if (!message && numBytes > remaining())
    message = (fileName + " is truncated: found " + llvm::Twine(sizeBytes()) + " bytes, needs " +
               llvm::Twine(numBytes) + " at " + llvm::Twine(at) + " for " + what + "; download the file again")
                  .str();
  return !message;
}

const uint8_t *GgufBytes::next(uint64_t numBytes, llvm::StringRef what) {
  if (!isThere(numBytes, what))
    return nullptr;
  if (at < bufferBegin || at + numBytes > bufferBegin + buffer.size()) {
    buffer.resize(static_cast<size_t>(std::min(kBufferBytes, remaining())));
    bufferBegin = at;
    if (llvm::Error error = file.read(at, buffer)) {
      message = llvm::toString(std::move(error));
      return nullptr;
    }
  }
  const uint8_t *found = buffer.data() + (at - bufferBegin);
  at += numBytes;
  return found;
}

std::string GgufBytes::takeText(llvm::StringRef what, uint64_t maxBytes) {
  uint64_t length = take<uint64_t>(what);
  if (length > maxBytes) {
    fail("the text for " + what + " has " + llvm::Twine(length) + " bytes, expects at most " + llvm::Twine(maxBytes));
    return {};
  }
  if (!isThere(length, what))
    return {};
  std::string text(static_cast<size_t>(length), '\0');
  for (size_t done = 0; done < text.size();) {
    size_t piece = std::min<size_t>(text.size() - done, kBufferBytes);
    const uint8_t *found = next(piece, what);
    if (!found)
      return {};
    std::memcpy(text.data() + done, found, piece);
    done += piece;
  }
  return text;
}

} // namespace moec
