// SPDX-License-Identifier: Apache-2.0
/// \file
/// Symmetric quantization to the nearest code, a group at a time.
#include "lib/Quant/Quantize.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

namespace moec {

namespace {

/// Rounds to the nearest integer, ties to even; |x| <= 2^22. Adding 1.5 * 2^23 leaves no bits for a fraction.
float roundEven(float x) {
  constexpr float kShift = 12582912.0f;
  return (x + kShift) - kShift;
}

/// max|w|, or NaN or infinity if there is one in `values`.
float absoluteMaximum(llvm::ArrayRef<float> values) {
  float largest = 0;
  bool isFinite = true;
  for (float value : values) {
    float magnitude = std::fabs(value);
    isFinite &= magnitude <= 3.402823466e38f; // false for NaN too
    largest = std::max(largest, magnitude);
  }
  return isFinite ? largest : INFINITY;
}

} // namespace

llvm::Error checkFinite(llvm::ArrayRef<float> values, llvm::StringRef tensor, int64_t row) {
  if (std::isfinite(absoluteMaximum(values)))
    return llvm::Error::success();
  auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  const char *found = std::isnan(*bad) ? "nan" : *bad > 0 ? "infinity" : "-infinity";
  return fault("'" + tensor + "' has the value " + found + " in row " + llvm::Twine(row) + ", column " +
               llvm::Twine(bad - values.begin()) + ", expected finite weights");
}

llvm::Error quantizeRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row,
                        llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales) {
  assert(encoding.isInteger() && values.size() % encoding.group == 0 && "checkEncoding refuses this");
  assert(codes.size() == values.size() && scales.size() == values.size() / encoding.group && "wrong buffers");
  float maxCode = static_cast<float>(encoding.maxCode());
  for (size_t g = 0; g < scales.size(); ++g) {
    llvm::ArrayRef<float> group = values.slice(g * encoding.group, encoding.group);
    int8_t *out = codes.data() + g * encoding.group;
    float largest = absoluteMaximum(group);
    if (!std::isfinite(largest))
      return checkFinite(values, tensor, row);
    scales[g] = f32ToF16(largest / maxCode);
    float scale = f16ToF32(scales[g]);
    if (!std::isfinite(scale))
      return fault("'" + tensor + "' has the absolute maximum " + std::to_string(largest) + " in row " +
                   llvm::Twine(row) + ", group " + llvm::Twine(g) + ", expected at most 65504 times " +
                   llvm::Twine(encoding.maxCode()) + " so that its f16 scale is finite; store it as f32");
    if (scale == 0) {
      std::fill_n(out, encoding.group, int8_t(0));
      continue;
    }
    for (int64_t k = 0; k < encoding.group; ++k)
      out[k] = static_cast<int8_t>(roundEven(std::clamp(group[k] / scale, -maxCode, maxCode)));
  }
  return llvm::Error::success();
}

void dequantizeRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
                   llvm::MutableArrayRef<float> values) {
  assert(codes.size() == values.size() && scales.size() == values.size() / encoding.group && "wrong buffers");
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<float>(codes[k]) * f16ToF32(scales[k / encoding.group]);
}

} // namespace moec
