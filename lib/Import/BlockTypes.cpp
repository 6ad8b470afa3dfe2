// SPDX-License-Identifier: Apache-2.0
/// \file
/// Dequantization of block types. Compiled without contraction, so every product is rounded before the next step.
#include "lib/Import/BlockTypes.h"

#include "lib/Support/Half.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

namespace moec {

namespace {

float halfAt(const uint8_t *bytes) { return f16ToF32(llvm::support::endian::read16le(bytes)); }

/// f16 scale, 32 codes of 8 bits.
void dequantizeQ8_0(const uint8_t *block, float *out) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
}

/// f16 scale, 16 bytes of which byte j holds codes j (low half) and j + 16. Code 8 is 0.
void dequantizeQ4_0(const uint8_t *block, float *out) {
  float scale = halfAt(block);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>((block[2 + i % 16] >> (i / 16 * 4) & 15) - 8) * scale;
}

/// f16 scale and minimum, codes as in Q4_0. Code 0 is the minimum.
void dequantizeQ4_1(const uint8_t *block, float *out) {
  float scale = halfAt(block), minimum = halfAt(block + 2);
  for (int i = 0; i < 32; ++i)
    out[i] = static_cast<float>(block[4 + i % 16] >> (i / 16 * 4) & 15) * scale + minimum;
}

/// 128 bytes of low halves, 64 bytes of high pairs of bits, 16 scales of 8 bits, f16 scale of the block. Code 32 is 0.
void dequantizeQ6_K(const uint8_t *block, float *out) {
  const uint8_t *scales = block + 192;
  float scale = halfAt(block + 208);
  for (int half = 0; half < 2; ++half)
    for (int quarter = 0; quarter < 4; ++quarter)
      for (int i = 0; i < 32; ++i) {
        int low = block[64 * half + 32 * (quarter % 2) + i] >> (quarter / 2 * 4) & 15;
        int high = block[128 + 32 * half + i] >> (2 * quarter) & 3;
        int8_t part = static_cast<int8_t>(scales[8 * half + 2 * quarter + i / 16]);
        out[128 * half + 32 * quarter + i] =
            scale * static_cast<float>(part) * static_cast<float>((low | high << 4) - 32);
      }
}

} // namespace

void dequantizeBlocks(TensorType type, const uint8_t *bytes, llvm::MutableArrayRef<float> out) {
  TypeBlock block = tensorTypeBlock(type);
  assert(out.size() % block.values == 0 && "whole blocks");
  for (float *at = out.begin(); at != out.end(); at += block.values, bytes += block.bytes)
    switch (type) {
    case TensorType::Q8_0:
      dequantizeQ8_0(bytes, at);
      break;
    case TensorType::Q4_0:
      dequantizeQ4_0(bytes, at);
      break;
    case TensorType::Q4_1:
      dequantizeQ4_1(bytes, at);
      break;
    case TensorType::Q6_K:
      dequantizeQ6_K(bytes, at);
      break;
    default:
      llvm_unreachable("not a block type");
    }
}

void unpackBlocks(TensorType type, const uint8_t *bytes, llvm::MutableArrayRef<int8_t> codes,
                  llvm::MutableArrayRef<uint16_t> scales, llvm::MutableArrayRef<uint16_t> minima) {
  assert(codes.size() == 32 * scales.size() && "a scale for each block");
  assert(minima.size() == (type == TensorType::Q4_1 ? scales.size() : 0) && "a minimum for each block of Q4_1");
  uint64_t blockBytes = tensorTypeBlock(type).bytes;
  for (size_t i = 0; i < scales.size(); ++i, bytes += blockBytes) {
    int8_t *out = codes.data() + 32 * i;
    scales[i] = llvm::support::endian::read16le(bytes);
    if (type == TensorType::Q4_1)
      minima[i] = f32ToF16(halfAt(bytes + 2) + 8 * halfAt(bytes));
    const uint8_t *stored = bytes + (type == TensorType::Q4_1 ? 4 : 2);
    for (int k = 0; k < 32; ++k)
      out[k] = static_cast<int8_t>(type == TensorType::Q8_0 ? stored[k] : (stored[k % 16] >> (k / 16 * 4) & 15) - 8);
  }
}

} // namespace moec
