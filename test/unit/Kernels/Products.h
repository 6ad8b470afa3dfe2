// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrices in the stored layouts, and their products by plain loops in the order of docs/architecture.md. Compiled
/// without contraction. Main source: docs/pack-format.md.
#ifndef TEST_UNIT_KERNELS_PRODUCTS_H
#define TEST_UNIT_KERNELS_PRODUCTS_H

#include "lib/Pack/TilePacker.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/Kernels/Harness.h"

#include <random>

namespace moec {

/// A matrix by meaning: floats, or codes with half-precision scales, [row][encoding.numScales].
struct Matrix {
  MatrixSpec spec;
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<uint16_t> scales;
};

inline Matrix randomMatrix(const MatrixSpec &spec, std::mt19937 &random) {
  Matrix matrix{spec, {}, {}, {}};
  const Encoding &encoding = spec.encoding;
  int64_t count = spec.rows * spec.columns;
  if (!encoding.isInteger()) {
    for (int64_t i = 0; i < count; ++i) {
      float value = (float)(random() >> 8) / 8388608.0f - 1.0f;
      matrix.values.push_back(encoding.kind == EncodingKind::f16 ? ofHalf(halfOf(value)) : value);
    }
    return matrix;
  }
  int range = encoding.maxCode() - encoding.minCode() + 1;
  for (int64_t i = 0; i < count; ++i)
    matrix.codes.push_back((int8_t)((int)(random() % range) + encoding.minCode()));
  // The first rows have codes of one sign, the largest sums that can occur.
  for (int64_t k = 0; k < spec.columns; ++k) {
    matrix.codes[k] = (int8_t)encoding.maxCode();
    matrix.codes[spec.columns + k] = (int8_t)encoding.minCode();
  }
  for (int64_t i = 0; i < spec.rows * encoding.numScales(spec.columns); ++i)
    matrix.scales.push_back((uint16_t)(random() % 0x3000)); // subnormal halves to 0.125
  return matrix;
}

/// Writes the matrix at its offset into `record`, which grows as needed. One row at a time, by places that LayoutTest
/// checks against docs/pack-format.md.
inline void store(const Matrix &matrix, LayoutFamily family, Buffer &record) {
  const MatrixSpec &spec = matrix.spec;
  Layout layout = spec.layout(family);
  TilePacker packer(layout);
  uint64_t needed = spec.offsetBytes + layout.totalBytes();
  if (record.size() < needed)
    record.resize(needed, 0);
  const int64_t numScales = spec.encoding.numScales(spec.columns);
  for (int64_t tile = 0; tile < layout.numRowTiles(); ++tile) {
    int64_t first = tile * layout.rowTile(), count = std::min(layout.rowTile(), spec.rows - first);
    llvm::MutableArrayRef<uint8_t> out(record.data() + spec.offsetBytes + tile * layout.tileBytes(),
                                       layout.tileBytes());
    if (spec.encoding.isInteger())
      packer.pack(tile, llvm::ArrayRef(matrix.codes).slice(first * spec.columns, count * spec.columns),
                  llvm::ArrayRef(matrix.scales).slice(first * numScales, count * numScales), out);
    else
      packer.pack(tile, llvm::ArrayRef(matrix.values).slice(first * spec.columns, count * spec.columns), out);
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
  Activations rows{count, spec.columns, spec.encoding.isInteger() ? spec.encoding.group : spec.columns, {}, {}, {}, {}};
  for (int64_t i = 0; i < count * spec.columns; ++i)
    rows.floats.push_back(((float)(random() >> 8) / 8388608.0f - 1.0f) * (i % 7 == 0 ? 30.0f : 1.0f));
  for (int64_t i = 0; i < rows.group; ++i)
    rows.floats[i] = count > 1 ? 0.0f : 1.0f; // a group of zeros, or the largest sum
  // Rows of one value (all codes 127 or -127; products of the large ones stay finite: a NaN has other bits on ARM), of
  // subnormals, of values that fall to zero codes, with one outlier.
  const float ofRow[] = {2.5f, -3e15f, 1e-39f, 1e-31f};
  for (int64_t row = 1; row < count; ++row)
    for (int64_t k = 0; k < spec.columns; ++k) {
      float &value = rows.floats[row * spec.columns + k];
      if (row <= 4 && spec.encoding.isInteger())
        value = ofRow[row - 1];
      else if (row == 5 && k % rows.group == 3)
        value *= 1e6f;
    }
  quantize(rows);
  return rows;
}

template <class T> Buffer bytesOf(const std::vector<T> &values) {
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  return Buffer(bytes, bytes + values.size() * sizeof(T));
}

/// Appends the arguments that a kernel takes for rows that `spec` multiplies.
inline void appendRows(std::vector<Buffer> &buffers, const Activations &rows, const MatrixSpec &spec) {
  if (!spec.encoding.isInteger()) {
    buffers.push_back(bytesOf(rows.floats));
    return;
  }
  buffers.push_back(bytesOf(rows.codes));
  buffers.push_back(bytesOf(rows.scales));
  buffers.push_back(bytesOf(rows.sums));
}

/// Element `r` of W x for row `i` of x.
inline float product(const Matrix &matrix, const Activations &rows, int64_t i, int64_t r) {
  const Encoding &encoding = matrix.spec.encoding;
  const int64_t K = matrix.spec.columns, G = encoding.group, numScales = encoding.numScales(K);
  float acc = 0.0f;
  if (!encoding.isInteger()) {
    for (int64_t k = 0; k < K; ++k)
      acc = std::fma(matrix.values[r * K + k], rows.floats[i * K + k], acc);
    return acc;
  }
  for (int64_t g = 0; g < K / G; ++g) {
    int32_t sum = 0;
    for (int64_t k = g * G; k < (g + 1) * G; ++k)
      sum += (int32_t)matrix.codes[r * K + k] * rows.codes[i * K + k];
    const uint16_t *scales = &matrix.scales[r * numScales + g];
    float scale = rows.scales[i * (K / G) + g];
    acc = std::fma((float)sum, ofHalf(scales[0]) * scale, acc);
    if (encoding.minimum)
      acc = std::fma(ofHalf(scales[K / G]), (float)rows.sums[i * (K / G) + g] * scale, acc);
  }
  return acc;
}

} // namespace moec

#endif
