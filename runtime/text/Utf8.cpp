// SPDX-License-Identifier: Apache-2.0
/// \file
/// UTF-8 decoding, encoding and assembling. Part of the run step.
#include "runtime/text/Utf8.h"

namespace moert {

namespace {

/// Length of the code point that `lead` begins, or 0.
uint32_t lengthOfLead(uint8_t lead) {
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return 2;
  if (lead >= 0xE0 && lead <= 0xEF)
    return 3;
  if (lead >= 0xF0 && lead <= 0xF4)
    return 4;
  return 0;
}

/// Whether `byte` may be the second byte behind `lead`: excludes overlong forms, surrogates and codes above U+10FFFF.
bool isSecondByte(uint8_t lead, uint8_t byte) {
  switch (lead) {
  case 0xE0:
    return byte >= 0xA0 && byte <= 0xBF;
  case 0xED:
    return byte >= 0x80 && byte <= 0x9F;
  case 0xF0:
    return byte >= 0x90 && byte <= 0xBF;
  case 0xF4:
    return byte >= 0x80 && byte <= 0x8F;
  default:
    return (byte & 0xC0) == 0x80;
  }
}

bool isContinuation(uint8_t lead, uint32_t index, uint8_t byte) {
  return index == 1 ? isSecondByte(lead, byte) : (byte & 0xC0) == 0x80;
}

uint32_t writeReplacement(char *out) {
  out[0] = static_cast<char>(0xEF);
  out[1] = static_cast<char>(0xBF);
  out[2] = static_cast<char>(0xBD);
  return 3;
}

} // namespace

CodePoint decodeCodePoint(const uint8_t *text, size_t size) {
  uint8_t lead = text[0];
  uint32_t length = lengthOfLead(lead);
  if (length == 1)
    return {lead, 1};
  if (length == 0 || length > size)
    return {kInvalidByte + lead, 1};
  uint32_t code = lead & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if (!isContinuation(lead, i, text[i]))
      return {kInvalidByte + lead, 1};
    code = code << 6 | (text[i] & 0x3Fu);
  }
  return {code, length};
}

uint32_t encodeCodePoint(uint32_t code, uint8_t *out) {
  if (code < 0x80) {
    out[0] = static_cast<uint8_t>(code);
    return 1;
  }
  if (code < 0x800) {
    out[0] = static_cast<uint8_t>(0xC0 | code >> 6);
    out[1] = static_cast<uint8_t>(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = static_cast<uint8_t>(0xE0 | code >> 12);
    out[1] = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    out[2] = static_cast<uint8_t>(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = static_cast<uint8_t>(0xF0 | code >> 18);
  out[1] = static_cast<uint8_t>(0x80 | (code >> 12 & 0x3F));
  out[2] = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
  out[3] = static_cast<uint8_t>(0x80 | (code & 0x3F));
  return 4;
}

size_t Utf8Assembler::push(const void *bytes, size_t sizeBytes, char *out) {
  const uint8_t *data = static_cast<const uint8_t *>(bytes);
  size_t written = 0;
  for (size_t i = 0; i < sizeBytes; ++i)
    written += step(data[i], out + written);
  return written;
}

size_t Utf8Assembler::step(uint8_t byte, char *out) {
  size_t written = 0;
  if (numPending != 0 && !isContinuation(pending[0], numPending, byte)) {
    written = writeReplacement(out);
    numPending = 0;
  }
  if (numPending == 0 && lengthOfLead(byte) == 0)
    return written + writeReplacement(out + written);
  pending[numPending++] = byte;
  if (numPending < lengthOfLead(pending[0]))
    return written;
  for (uint32_t i = 0; i < numPending; ++i)
    out[written++] = static_cast<char>(pending[i]);
  numPending = 0;
  return written;
}

size_t Utf8Assembler::finish(char *out) {
  if (numPending == 0)
    return 0;
  numPending = 0;
  return writeReplacement(out);
}

} // namespace moert
