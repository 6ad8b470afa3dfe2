// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quantization to the nearest code, a group at a time, and checks and storage of floats.
#include "lib/Quant/Quantize.h"

#include "lib/Quant/QuantizeLoops.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace moec {

namespace {

/// max|w|, or infinity if a value is not finite.
MOEC_CLONES float absoluteMaximum(const float *values, size_t count) {
  uint32_t largest = loops::largestMagnitude(values, count);
  return largest < loops::kInfinity ? std::bit_cast<float>(largest) : INFINITY;
}

MOEC_CLONES int64_t quantizeGroups(const float *values, int64_t numGroups, const Encoding &encoding, int8_t *codes,
                                   uint16_t *scales) {
  return loops::quantizeGroups(values, numGroups, encoding, codes, scales);
}

} // namespace

/// Names the first value that is not finite.
static llvm::Error notFinite(llvm::ArrayRef<float> values, llvm::StringRef tensor, int64_t row) {
  auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  const char *found = std::isnan(*bad) ? "nan" : *bad > 0 ? "infinity" : "-infinity";
  return fault("'" + tensor + "' has the value " + found + " in row " + llvm::Twine(row) + ", column " +
               llvm::Twine(bad - values.begin()) + ", expected finite weights");
}

llvm::Error checkFloats(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row) {
  float largest = absoluteMaximum(values.data(), values.size());
  if (!std::isfinite(largest))
    return notFinite(values, tensor, row);
  auto isBeyond = [](float value) { return !std::isfinite(f16ToF32(f32ToF16(value))); };
  if (encoding.kind != EncodingKind::f16 || !isBeyond(largest))
    return llvm::Error::success();
  auto bad = std::find_if(values.begin(), values.end(), isBeyond);
  return fault("'" + tensor + "' has the value " + std::to_string(*bad) + " in row " + llvm::Twine(row) + ", column " +
               llvm::Twine(bad - values.begin()) + ", expected at most 65504, the largest f16; store it as f32");
}

llvm::Error checkScales(llvm::ArrayRef<uint16_t> scales, const Encoding &encoding, llvm::StringRef tensor,
                        int64_t row) {
  auto bad = std::find_if(scales.begin(), scales.end(), [](uint16_t bits) { return (bits & 0x7C00) == 0x7C00; });
  if (bad == scales.end())
    return llvm::Error::success();
  int64_t groups = static_cast<int64_t>(scales.size()) / (encoding.minimum ? 2 : 1), index = bad - scales.begin();
  return fault("'" + tensor + "' has a " + (index < groups ? "scale" : "minimum") + " that is no finite f16 in row " +
               llvm::Twine(row) + ", group " + llvm::Twine(index % groups) +
               ", expected finite weights; the file is damaged, download it again");
}

void packFloat(float value, const Encoding &encoding, uint8_t *out) {
  assert(!encoding.isInteger() && "a float encoding");
  if (encoding.kind == EncodingKind::f16)
    llvm::support::endian::write16le(out, f32ToF16(value));
  else
    llvm::support::endian::write32le(out, llvm::bit_cast<uint32_t>(value));
}

float unpackFloat(const uint8_t *bytes, const Encoding &encoding) {
  assert(!encoding.isInteger() && "a float encoding");
  if (encoding.kind == EncodingKind::f16)
    return f16ToF32(llvm::support::endian::read16le(bytes));
  return llvm::bit_cast<float>(llvm::support::endian::read32le(bytes));
}

llvm::Error quantizeRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row,
                        llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales) {
  assert(encoding.isInteger() && values.size() % encoding.group == 0 && "checkEncoding refuses this");
  assert(codes.size() == values.size() && int64_t(scales.size()) == encoding.numScales(values.size()) &&
         "wrong buffers");
  int64_t numGroups = encoding.numGroups(values.size());
  int64_t g = quantizeGroups(values.data(), numGroups, encoding, codes.data(), scales.data());
  if (g == numGroups)
    return llvm::Error::success();
  llvm::ArrayRef<float> group = values.slice(g * encoding.group, encoding.group);
  float largest = absoluteMaximum(group.data(), group.size());
  if (!std::isfinite(largest))
    return notFinite(values, tensor, row);
  return fault("'" + tensor + "' has the absolute maximum " + std::to_string(largest) + " in row " + llvm::Twine(row) +
               ", group " + llvm::Twine(g) + ", expected at most 65504" +
               (encoding.minimum ? "" : " times " + std::to_string(encoding.maxCode())) +
               " so that its f16 scale is finite; store it as f32");
}

void dequantizeRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
                   llvm::MutableArrayRef<float> values) {
  assert(codes.size() == values.size() && int64_t(scales.size()) == encoding.numScales(values.size()) &&
         "wrong buffers");
  int64_t numGroups = encoding.numGroups(values.size());
  for (int64_t g = 0; g < numGroups; ++g) {
    float scale = f16ToF32(scales[g]);
    for (int64_t k = g * encoding.group; k < (g + 1) * encoding.group; ++k) {
      values[k] = static_cast<float>(codes[k]) * scale;
      if (encoding.minimum)
        values[k] += f16ToF32(scales[numGroups + g]);
    }
  }
}

} // namespace moec
