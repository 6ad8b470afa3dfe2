// SPDX-License-Identifier: Apache-2.0
/// \file
/// The KV region of a test case: addresses of its parts, plain append and plain reads.
/// Main source: passes/lower/kernels/FloatKernels.h, KvLayout.
#ifndef TEST_UNIT_FLOATKERNELS_KVREGION_H
#define TEST_UNIT_FLOATKERNELS_KVREGION_H

#include "include/moert/KvWindow.h"
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"

#include <algorithm>
#include <cstring>
#include <vector>

/// The KV region of a case, filled with bytes that are NaN in every float format.
struct Region {
  KvShape shape;
  moert_kv_window window = moert_make_kv_window(kContext, 0, 0, kMaxTokens);
  std::vector<uint8_t> bytes;

  explicit Region(const KvShape &shape) : shape(shape), bytes((size_t)shape.regionBytes(), 0xff) {}
  int64_t block(int64_t position) const { return moert_kv_physical_block(&window, position / 64) * shape.blockBytes(); }
  /// Whether a token at `position` sees `other`.
  bool sees(int64_t position, int64_t other) const {
    return other <= position && (other > position - window.window || other < window.sinks);
  }
  bool isPacked() const { return shape.elementBits == element::i4; }
  bool isCoded() const { return shape.elementBits <= element::i8; }
  /// Byte of an element.
  int64_t keyAt(int64_t head, int64_t i, int64_t position) const {
    int64_t base = block(position) + shape.keyCodes() + head * shape.keyDim * 64 * shape.elementBits / 8;
    int64_t slot = position % 64;
    if (!isCoded())
      return base + (i * 64 + slot) * shape.elementBits / 8;
    int64_t columns = isPacked() ? 8 : 4; // of a word of 4 bytes
    return base + (i / columns * 64 + slot) * 4 + i % 4;
  }
  int64_t valueAt(int64_t head, int64_t i, int64_t position) const {
    int64_t rowBytes = shape.valueDim * shape.elementBits / 8, slot = position % 64;
    int64_t base = block(position) + shape.valueCodes() + head * 64 * rowBytes;
    if (!isCoded())
      return base + slot * rowBytes + i * shape.elementBits / 8;
    int64_t first = i / 32 * 32, half = std::min<int64_t>(shape.valueDim - first, 32) / 2;
    int64_t byte = isPacked() ? first / 2 + (i - first) % half : i;
    return base + slot / 4 * 4 * rowBytes + byte * 4 + slot % 4;
  }
  bool isHighKey(int64_t i) const { return i % 8 >= 4; }
  bool isHighValue(int64_t i) const {
    int64_t first = i / 32 * 32;
    return i - first >= std::min<int64_t>(shape.valueDim - first, 32) / 2;
  }
  int64_t keyScaleAt(int64_t head, int64_t position) const {
    return block(position) + shape.keyScales() + (head * 64 + position % 64) * shape.scaleBytes();
  }
  int64_t valueScaleAt(int64_t head, int64_t i, int64_t position) const {
    int64_t row = isPacked() ? head * shape.valueGroups() + i / 32 : head;
    return block(position) + shape.valueScales() + (row * 64 + position % 64) * shape.scaleBytes();
  }
  template <class T> void putRaw(int64_t at, T x) { std::memcpy(&bytes[at], &x, sizeof(T)); }
  template <class T> T getRaw(int64_t at) const {
    T x;
    std::memcpy(&x, &bytes[at], sizeof(T));
    return x;
  }
  void put(int64_t at, float x) {
    if (shape.elementBits == element::f16)
      putRaw(at, halfOf(x));
    else
      putRaw(at, x);
  }
  void putNibble(int64_t at, bool high, int8_t code) {
    bytes[at] = (uint8_t)(high ? (bytes[at] & 15) | (code & 15) << 4 : (bytes[at] & 0xf0) | (code & 15));
  }
  /// A stored element without its scale; of packed bytes the high or the low half.
  float get(int64_t at, bool high) const {
    if (isPacked())
      return (float)((int8_t)(high ? bytes[at] : bytes[at] << 4) >> 4);
    return shape.elementBits == element::i8    ? (float)(int8_t)bytes[at]
           : shape.elementBits == element::f16 ? ofHalf(getRaw<uint16_t>(at))
                                               : getRaw<float>(at);
  }
  float key(int64_t head, int64_t i, int64_t position) const { return get(keyAt(head, i, position), isHighKey(i)); }
  float value(int64_t head, int64_t i, int64_t position) const {
    return get(valueAt(head, i, position), isHighValue(i));
  }
  bool hasScales() const { return shape.scaleBytes() != 0; }
  float scale(int64_t at) const {
    return !hasScales() ? 1.0f : isPacked() ? ofHalf(getRaw<uint16_t>(at)) : getRaw<float>(at);
  }

  void append(const float *k, const float *v, int64_t head, int64_t position) {
    if (isPacked())
      return appendNibbles(k, v, head, position);
    if (shape.elementBits == element::i8) {
      std::vector<int8_t> codes((size_t)std::max(shape.keyDim, shape.valueDim));
      putRaw(keyScaleAt(head, position), expectedCodes(k, codes.data(), 1, shape.keyDim));
      for (int64_t i = 0; i < shape.keyDim; ++i)
        putRaw(keyAt(head, i, position), codes[i]);
      putRaw(valueScaleAt(head, 0, position), expectedCodes(v, codes.data(), 1, shape.valueDim));
      for (int64_t i = 0; i < shape.valueDim; ++i)
        putRaw(valueAt(head, i, position), codes[i]);
      return;
    }
    for (int64_t i = 0; i < shape.keyDim; ++i)
      put(keyAt(head, i, position), k[i]);
    for (int64_t i = 0; i < shape.valueDim; ++i)
      put(valueAt(head, i, position), v[i]);
  }

private:
  void appendNibbles(const float *k, const float *v, int64_t head, int64_t position) {
    std::vector<float> key = expectedHadamard(k, shape.keyDim);
    std::vector<int8_t> codes((size_t)std::max(shape.keyDim, shape.valueDim));
    putRaw(keyScaleAt(head, position), expectedNibbles(key.data(), codes.data(), shape.keyDim));
    for (int64_t i = 0; i < shape.keyDim; ++i)
      putNibble(keyAt(head, i, position), isHighKey(i), codes[i]);
    for (int64_t first = 0; first < shape.valueDim; first += 32) {
      int64_t count = std::min<int64_t>(shape.valueDim - first, 32);
      putRaw(valueScaleAt(head, first, position), expectedNibbles(v + first, codes.data() + first, count));
    }
    for (int64_t i = 0; i < shape.valueDim; ++i)
      putNibble(valueAt(head, i, position), isHighValue(i), codes[i]);
  }
};

#endif
