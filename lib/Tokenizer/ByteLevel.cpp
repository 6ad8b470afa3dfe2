// SPDX-License-Identifier: Apache-2.0
/// \file
/// The byte map of byte-level BPE. Part of the import step. Main source: `bytes_to_unicode` of GPT-2's encoder.py.
#include "lib/Tokenizer/TokenizerJson.h"

#include <array>

namespace moec {

namespace {

/// Printable bytes of Latin-1 stand for themselves; the other 68 follow, in order, from U+0100.
bool isPrintable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr unsigned kNumMapped = 0x100 + 68;

std::array<int, kNumMapped> buildMap() {
  std::array<int, kNumMapped> map;
  map.fill(-1);
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    map[isPrintable(byte) ? byte : next++] = static_cast<int>(byte);
  return map;
}

} // namespace

std::string encodeByteLevel(uint8_t byte) {
  static const std::array<int, kNumMapped> map = buildMap();
  unsigned code = 0;
  while (map[code] != byte)
    ++code;
  if (code < 0x80)
    return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

bool decodeByteLevel(llvm::StringRef token, std::string &bytes) {
  static const std::array<int, kNumMapped> map = buildMap();
  bytes.clear();
  for (size_t i = 0; i < token.size(); ++i) {
    unsigned code = static_cast<unsigned char>(token[i]);
    // Every mapped code point has one or two UTF-8 bytes.
    if (code >= 0x80) {
      if ((code & 0xE0) != 0xC0 || i + 1 == token.size())
        return false;
      code = (code & 0x1F) << 6 | (static_cast<unsigned char>(token[++i]) & 0x3F);
    }
    if (code >= kNumMapped || map[code] < 0)
      return false;
    bytes.push_back(static_cast<char>(map[code]));
  }
  return true;
}

} // namespace moec
