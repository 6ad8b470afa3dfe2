// SPDX-License-Identifier: Apache-2.0
/// \file
/// The KV region of a test case: addresses of its parts, plain append and plain reads.
/// Main source: passes/lower/kernels/FloatKernels.h, KvLayout.
#ifndef TEST_UNIT_FLOATKERNELS_KVREGION_H
#define TEST_UNIT_FLOATKERNELS_KVREGION_H

#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"

#include <cstring>
#include <vector>

/// The KV region of a case, filled with bytes that are NaN in every float format.
struct Region {
  KvShape shape;
  std::vector<uint8_t> bytes;

  explicit Region(const KvShape &shape) : shape(shape), bytes((size_t)shape.regionBytes(), 0xff) {}
  int64_t block(int64_t position) const { return position / 64 * shape.blockBytes(); }
  int64_t keyAt(int64_t head, int64_t i, int64_t position) const {
    return block(position) + shape.keyCodes() + ((head * shape.keyDim + i) * 64 + position % 64) * shape.elementBytes;
  }
  int64_t valueAt(int64_t head, int64_t i, int64_t position) const {
    return block(position) + shape.valueCodes() +
           ((head * 64 + position % 64) * shape.valueDim + i) * shape.elementBytes;
  }
  int64_t scaleAt(int64_t scales, int64_t head, int64_t position) const {
    return block(position) + scales + (head * 64 + position % 64) * 4;
  }
  void putFloat(int64_t at, float x) { std::memcpy(&bytes[at], &x, 4); }
  float getFloat(int64_t at) const {
    float x;
    std::memcpy(&x, &bytes[at], 4);
    return x;
  }
  void put(int64_t at, float x) {
    uint16_t half = shape.elementBytes == 2 ? halfOf(x) : 0;
    if (shape.elementBytes == 2)
      std::memcpy(&bytes[at], &half, 2);
    else
      putFloat(at, x);
  }
  /// A stored element without its scale.
  float get(int64_t at) const {
    uint16_t half;
    std::memcpy(&half, &bytes[at], 2);
    return shape.elementBytes == 1 ? (float)(int8_t)bytes[at] : shape.elementBytes == 2 ? ofHalf(half) : getFloat(at);
  }
  float scale(int64_t scales, int64_t head, int64_t position) const {
    return shape.elementBytes == 1 ? getFloat(scaleAt(scales, head, position)) : 1.0f;
  }

  void append(const float *k, const float *v, int64_t head, int64_t position) {
    if (shape.elementBytes == 1) {
      float keyScale = expectedCodes(k, (int8_t *)&bytes[keyAt(head, 0, position)], 64, shape.keyDim);
      putFloat(scaleAt(shape.keyScales(), head, position), keyScale);
      float valueScale = expectedCodes(v, (int8_t *)&bytes[valueAt(head, 0, position)], 1, shape.valueDim);
      putFloat(scaleAt(shape.valueScales(), head, position), valueScale);
      return;
    }
    for (int64_t i = 0; i < shape.keyDim; ++i)
      put(keyAt(head, i, position), k[i]);
    for (int64_t i = 0; i < shape.valueDim; ++i)
      put(valueAt(head, i, position), v[i]);
  }
};

#endif
