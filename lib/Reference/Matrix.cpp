// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products of the interpreter. Compiled without contraction; every fma stands in the source.
#include "lib/Reference/Matrix.h"

#include "lib/Quant/Quantize.h"
#include "lib/Reference/Clones.h"
#include "lib/Reference/Numerics.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <cmath>

namespace moec {

constexpr int64_t kTileRows = 16;

ActTensor quantizeActivations(const FloatTensor &x, int64_t group) {
  ActTensor result;
  result.rows = x.numRows();
  result.columns = x.rowSize();
  result.group = group;
  result.codes.resize(x.values.size());
  int64_t numGroups = static_cast<int64_t>(x.values.size()) / group;
  for (int64_t g = 0; g < numGroups; ++g) {
    auto codes = llvm::MutableArrayRef(result.codes).slice(g * group, group);
    result.scales.push_back(quantizeGroup(llvm::ArrayRef(x.values).slice(g * group, group), codes));
    int32_t sum = 0;
    for (int8_t code : codes)
      sum += code;
    result.sums.push_back(sum);
  }
  return result;
}

llvm::Expected<Matrix> Matrix::create(llvm::ArrayRef<float> values, int64_t rows, int64_t columns,
                                      const Encoding &encoding, llvm::StringRef name) {
  if (llvm::Error error = checkEncoding(encoding, columns, name))
    return error;
  Matrix matrix;
  matrix.numRows = rows;
  matrix.numColumns = columns;
  matrix.kind = encoding;
  if (!encoding.isInteger()) {
    matrix.tiles.resize((rows + kTileRows - 1) / kTileRows * kTileRows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      if (encoding.kind == EncodingKind::f16)
        if (llvm::Error error = checkFloats(values.slice(r * columns, columns), encoding, name, r))
          return error;
      for (int64_t k = 0; k < columns; ++k) {
        float value = values[r * columns + k];
        if (encoding.kind == EncodingKind::f16)
          value = f16ToF32(f32ToF16(value));
        matrix.tiles[(r / kTileRows * columns + k) * kTileRows + r % kTileRows] = value;
      }
    }
    return matrix;
  }
  matrix.codes.resize(rows * columns);
  int64_t numGroups = encoding.numGroups(columns);
  std::vector<uint16_t> halves(encoding.numScales(columns));
  for (int64_t r = 0; r < rows; ++r) {
    if (llvm::Error error = quantizeRow(values.slice(r * columns, columns), encoding, name, r,
                                        llvm::MutableArrayRef(matrix.codes).slice(r * columns, columns), halves))
      return error;
    for (auto [i, half] : llvm::enumerate(halves))
      (int64_t(i) < numGroups ? matrix.scales : matrix.minima).push_back(f16ToF32(half));
  }
  return matrix;
}

llvm::Expected<Matrix> Matrix::ofCodes(std::vector<int8_t> codes, llvm::ArrayRef<uint16_t> scales, int64_t rows,
                                       int64_t columns, const Encoding &encoding, llvm::StringRef name) {
  if (llvm::Error error = checkEncoding(encoding, columns, name))
    return error;
  Matrix matrix;
  matrix.numRows = rows;
  matrix.numColumns = columns;
  matrix.kind = encoding;
  matrix.codes = std::move(codes);
  int64_t numGroups = encoding.numGroups(columns), numScales = encoding.numScales(columns);
  for (int64_t r = 0; r < rows; ++r) {
    llvm::ArrayRef<uint16_t> own = scales.slice(r * numScales, numScales);
    if (llvm::Error error = checkScales(own, encoding, name, r))
      return error;
    for (auto [i, half] : llvm::enumerate(own))
      (int64_t(i) < numGroups ? matrix.scales : matrix.minima).push_back(f16ToF32(half));
  }
  return matrix;
}

float Matrix::at(int64_t row, int64_t column) const {
  if (!kind.isInteger())
    return tiles[(row / kTileRows * numColumns + column) * kTileRows + row % kTileRows];
  int64_t group = row * (numColumns / kind.group) + column / kind.group;
  float product = static_cast<float>(codes[row * numColumns + column]) * scales[group];
  return kind.minimum ? product + minima[group] : product;
}

void Matrix::readRow(int64_t row, llvm::MutableArrayRef<float> out) const {
  for (int64_t k = 0; k < numColumns; ++k)
    out[k] = at(row, k);
}

/// One tile of rows times one token.
REFERENCE_FMA_CLONES static void multiplyTile(const float *__restrict tile, const float *__restrict x, int64_t columns,
                                              float *__restrict out) {
  float sums[kTileRows] = {};
  for (int64_t k = 0; k < columns; ++k)
    for (int64_t i = 0; i < kTileRows; ++i)
      sums[i] = __builtin_fmaf(tile[k * kTileRows + i], x[k], sums[i]);
  std::copy(sums, sums + kTileRows, out);
}

void Matrix::multiply(const float *x, int64_t tokens, float *y) const {
  float out[kTileRows];
  for (int64_t first = 0; first < numRows; first += kTileRows)
    for (int64_t t = 0; t < tokens; ++t) {
      multiplyTile(&tiles[first * numColumns], x + t * numColumns, numColumns, out);
      std::copy(out, out + std::min(kTileRows, numRows - first), y + t * numRows + first);
    }
}

REFERENCE_AVX2_CLONES static int32_t groupSum(const int8_t *__restrict a, const int8_t *__restrict b, int64_t group) {
  int32_t sum = 0;
  for (int64_t i = 0; i < group; ++i)
    sum += static_cast<int32_t>(a[i]) * b[i];
  return sum;
}

void Matrix::multiply(const ActTensor &x, float *y) const {
  int64_t group = kind.group, numGroups = numColumns / group;
  for (int64_t n = 0; n < numRows; ++n)
    for (int64_t t = 0; t < x.rows; ++t) {
      float sum = 0.0f;
      for (int64_t g = 0; g < numGroups; ++g) {
        int32_t product = groupSum(&codes[n * numColumns + g * group], &x.codes[t * numColumns + g * group], group);
        float scale = x.scales[t * numGroups + g];
        sum = std::fma(static_cast<float>(product), scales[n * numGroups + g] * scale, sum);
        if (kind.minimum)
          sum = std::fma(minima[n * numGroups + g], static_cast<float>(x.sums[t * numGroups + g]) * scale, sum);
      }
      y[t * numRows + n] = sum;
    }
}

} // namespace moec
