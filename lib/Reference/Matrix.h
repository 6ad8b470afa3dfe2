// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weights and activations as the interpreter holds them, and their products. Main source: docs/architecture.md
/// ("Numerics").
#ifndef LIB_REFERENCE_MATRIX_H
#define LIB_REFERENCE_MATRIX_H

#include "lib/Quant/Encoding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace moec {

/// Rows of f32 values.
struct FloatTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;

  /// Size of axis 0, and the product of the others.
  int64_t numRows() const { return shape.empty() ? 1 : shape.front(); }
  int64_t rowSize() const {
    int64_t size = 1;
    for (int64_t dimension : llvm::ArrayRef(shape).drop_front(shape.empty() ? 0 : 1))
      size *= dimension;
    return size;
  }
  llvm::ArrayRef<float> row(int64_t index) const { return llvm::ArrayRef(values).slice(index * rowSize(), rowSize()); }
  llvm::MutableArrayRef<float> row(int64_t index) {
    return llvm::MutableArrayRef(values).slice(index * rowSize(), rowSize());
  }
};

/// Activations [rows, columns] quantized to int8 by token and group (`#moe.act`).
struct ActTensor {
  int64_t rows = 0, columns = 0, group = 0;
  std::vector<int8_t> codes; // [rows][columns]
  std::vector<float> scales; // [rows][columns / group]
  std::vector<int32_t> sums; // [rows][columns / group]: of codes
};

/// Quantizes each row of `x`; the group divides the row.
ActTensor quantizeActivations(const FloatTensor &x, int64_t group);

/// A weight [rows, columns], decoded from its source and encoded. Immutable once made.
class Matrix {
public:
  /// Errors: the group does not divide the columns; a value is not finite; a scale overflows; with `name` in them.
  static llvm::Expected<Matrix> create(llvm::ArrayRef<float> values, int64_t rows, int64_t columns,
                                       const Encoding &encoding, llvm::StringRef name);
  /// Of codes [rows][columns] and f16 scales, for each row as `quantizeRow` has them. Errors: a scale is not finite.
  static llvm::Expected<Matrix> ofCodes(std::vector<int8_t> codes, llvm::ArrayRef<uint16_t> scales, int64_t rows,
                                        int64_t columns, const Encoding &encoding, llvm::StringRef name);

  int64_t rows() const { return numRows; }
  int64_t columns() const { return numColumns; }
  const Encoding &encoding() const { return kind; }
  uint64_t sizeBytes() const { return tiles.size() * 4 + codes.size() + (scales.size() + minima.size()) * 4; }
  /// The real value: for integer codes float(code) * scale, or float(code) * scale + minimum.
  float at(int64_t row, int64_t column) const;
  /// All values of one row.
  void readRow(int64_t row, llvm::MutableArrayRef<float> out) const;

  /// y[t][n] = Σ_k W[n][k] x[t][k], acc = fma(w, x, acc) with k ascending. Needs a matrix of floats.
  /// Shapes: x [tokens][columns], y [tokens][rows].
  void multiply(const float *x, int64_t tokens, float *y) const;
  /// For each group in ascending order acc = fma(float(Σ code_w·code_x), scale_w * scale_x, acc), and with minima then
  /// acc = fma(minimum, float(Σ code_x) * scale_x, acc). Needs an integer matrix with the groups of x.
  void multiply(const ActTensor &x, float *y) const;

private:
  int64_t numRows = 0, numColumns = 0;
  Encoding kind;
  std::vector<float> tiles;  // floats: 16 rows side by side, [rows / 16][columns][16], so that lanes run along outputs
  std::vector<int8_t> codes; // integer: [rows][columns]
  std::vector<float> scales; // integer: [rows][columns / group]
  std::vector<float> minima; // with a minimum: [rows][columns / group]
};

} // namespace moec

#endif
