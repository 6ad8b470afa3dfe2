// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrices in the stored layouts, and their products by plain loops in the order of DESIGN §4.1. Compiled without
/// contraction. Main source: docs/formats.md.
#ifndef TEST_UNIT_KERNELS_PRODUCTS_H
#define TEST_UNIT_KERNELS_PRODUCTS_H

#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/Kernels/Harness.h"

#include <random>

namespace moec {

/// A matrix by meaning: f32 values, or codes with one half-precision scale for each row and group.
struct Matrix {
  MatrixSpec spec;
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<uint16_t> scales;
};

inline Matrix randomMatrix(const MatrixSpec &spec, std::mt19937 &random) {
  Matrix matrix{spec, {}, {}, {}};
  int64_t count = spec.rows * spec.columns;
  if (spec.encoding == WeightEncoding::f32) {
    for (int64_t i = 0; i < count; ++i)
      matrix.values.push_back((float)(random() >> 8) / 8388608.0f - 1.0f);
    return matrix;
  }
  int range = spec.encoding == WeightEncoding::i8 ? 255 : 15;
  for (int64_t i = 0; i < count; ++i)
    matrix.codes.push_back((int8_t)((int)(random() % range) - range / 2));
  // The first row has codes of one sign, the largest sum that can occur.
  for (int64_t k = 0; k < spec.columns; ++k)
    matrix.codes[k] = (int8_t)(range / 2);
  for (int64_t i = 0; i < count / spec.group; ++i)
    matrix.scales.push_back((uint16_t)(random() % 0x3000)); // subnormal halves to 0.125
  return matrix;
}

/// Writes the matrix at its offset into `record`, which grows as needed.
inline void store(const Matrix &matrix, LayoutFamily family, Buffer &record) {
  const MatrixSpec &spec = matrix.spec;
  uint64_t needed = spec.offsetBytes + matrixBytes(spec, family);
  if (record.size() < needed)
    record.resize(needed, 0);
  uint8_t *base = record.data() + spec.offsetBytes;
  const int64_t K = spec.columns, G = spec.group;
  if (spec.encoding == WeightEncoding::f32) {
    for (int64_t r = 0; r < spec.rows; ++r)
      for (int64_t k = 0; k < K; ++k)
        std::memcpy(base + ((r / 16) * K + k) * 64 + (r % 16) * 4, &matrix.values[r * K + k], 4);
    return;
  }
  const bool isByte = spec.encoding == WeightEncoding::i8, isArm = family == LayoutFamily::Arm64;
  const int64_t tile = isArm ? 8 : 16, codeBytes = tile * G / (isByte ? 1 : 2), blockBytes = codeBytes + 2 * tile;
  for (int64_t r = 0; r < spec.rows; ++r)
    for (int64_t k = 0; k < K; ++k) {
      uint8_t *block = base + ((r / tile) * (K / G) + k / G) * blockBytes;
      int64_t unit = isArm ? (k % G) / 8 : (k % G) / 4;
      int64_t nibble = isByte ? 0 : unit % 2, place = isByte ? unit : unit / 2;
      int64_t at = isArm ? (place * 4 + (r % 8) / 2) * 16 + (r % 2) * 8 + k % 8 : place * 64 + (r % 16) * 4 + k % 4;
      int code = matrix.codes[r * K + k] + (isArm ? 0 : isByte ? 128 : 8);
      if (isByte)
        block[at] = (uint8_t)code;
      else
        block[at] |= (uint8_t)((code & 15) << (4 * nibble));
      std::memcpy(block + codeBytes + (r % tile) * 2, &matrix.scales[r * (K / G) + k / G], 2);
    }
}

/// Activation rows in both forms.
struct Activations {
  int64_t count, columns, group;
  std::vector<float> floats;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

inline void quantize(Activations &rows) {
  rows.codes.resize(rows.floats.size());
  rows.scales.resize(rows.floats.size() / rows.group);
  rows.sums.resize(rows.scales.size());
  for (int64_t i = 0; i < rows.count; ++i)
    expectedQuantize(&rows.floats[i * rows.columns], &rows.codes[i * rows.columns],
                     &rows.scales[i * rows.columns / rows.group], &rows.sums[i * rows.columns / rows.group],
                     rows.columns, rows.group);
}

inline Activations randomActivations(int64_t count, const MatrixSpec &spec, std::mt19937 &random) {
  Activations rows{count, spec.columns, spec.encoding == WeightEncoding::f32 ? spec.columns : spec.group, {}, {}, {},
                   {}};
  for (int64_t i = 0; i < count * spec.columns; ++i)
    rows.floats.push_back(((float)(random() >> 8) / 8388608.0f - 1.0f) * (i % 7 == 0 ? 30.0f : 1.0f));
  for (int64_t i = 0; i < rows.group; ++i)
    rows.floats[i] = count > 1 ? 0.0f : 1.0f; // a group of zeros, or the largest sum
  quantize(rows);
  return rows;
}

template <class T> Buffer bytesOf(const std::vector<T> &values) {
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return Buffer(bytes, bytes + values.size() * sizeof(T));
}

/// Appends the arguments that a kernel takes for rows that `spec` multiplies.
inline void appendRows(std::vector<Buffer> &buffers, const Activations &rows, const MatrixSpec &spec) {
  if (spec.encoding == WeightEncoding::f32) {
    buffers.push_back(bytesOf(rows.floats));
    return;
  }
  buffers.push_back(bytesOf(rows.codes));
  buffers.push_back(bytesOf(rows.scales));
  buffers.push_back(bytesOf(rows.sums));
}

/// Element `r` of W x for row `i` of x.
inline float product(const Matrix &matrix, const Activations &rows, int64_t i, int64_t r) {
  const int64_t K = matrix.spec.columns, G = matrix.spec.group;
  float acc = 0.0f;
  if (matrix.spec.encoding == WeightEncoding::f32) {
    for (int64_t k = 0; k < K; ++k)
      acc = std::fma(matrix.values[r * K + k], rows.floats[i * K + k], acc);
    return acc;
  }
  for (int64_t g = 0; g < K / G; ++g) {
    int32_t sum = 0;
    for (int64_t k = g * G; k < (g + 1) * G; ++k)
      sum += (int32_t)matrix.codes[r * K + k] * rows.codes[i * K + k];
    float scale = ofHalf(matrix.scales[r * (K / G) + g]) * rows.scales[i * (K / G) + g];
    acc = std::fma((float)sum, scale, acc);
  }
  return acc;
}

} // namespace moec

#endif
