// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finds the pieces of a matrix and reads across their ends.
#include "lib/Import/WeightPieces.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

#include <algorithm>

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace moec {

Expected<PiecedWeight> PiecedWeight::create(mlir::moe::WeightOp weight, int64_t index,
                                            llvm::ArrayRef<WeightFile> files) {
  mlir::moe::SourceAttr source = weight.getSource();
  llvm::ArrayRef<int64_t> shape = weight.getTensorType().getShape();
  std::string symbol = "'" + weight.getSymName().str() + "'";
  std::optional<TensorType> type = parseTensorType(source.getDtype().getValue().upper());
  if (!type || !isWeightType(*type))
    return fault(symbol + " has the unknown type " + source.getDtype().getValue());
  // The verifier of moe.weight has seen that the pieces divide the first axis.
  int64_t numPieces = source.getOffsets().size(), indicesOfPiece = shape[0] / numPieces;
  bool isColumn = shape.size() == 1 && numPieces > 1, isRow = shape.size() == 1 && numPieces == 1;
  bool isStack = shape.size() == 3;
  uint64_t rowsOfIndex = isStack ? shape[1] : 1, columns = isColumn ? 1 : shape.back();
  std::optional<uint64_t> rowsOfSource = isRow ? 1 : checkedMul(indicesOfPiece, rowsOfIndex);
  std::optional<uint64_t> values = rowsOfSource ? checkedMul(*rowsOfSource, columns) : std::nullopt;
  std::optional<uint64_t> bytes = values ? tensorTypeBytes(*type, *values) : std::nullopt;
  if (!bytes)
    return fault(symbol + " has pieces that are not whole blocks of type " + source.getDtype().getValue() +
                 ", or of 2^64 bytes or more");
  PiecedWeight result(symbol, isColumn, isStack ? rowsOfIndex : *rowsOfSource, columns);
  size_t first = isStack ? index / indicesOfPiece : 0, end = isStack ? first + 1 : numPieces;
  for (size_t piece = first; piece < end; ++piece) {
    uint64_t number = source.getFiles()[piece], offset = source.getOffsets()[piece];
    if (number >= files.size())
      return fault(symbol + " lies in file " + Twine(number) + ", but 'moe.files' has " + Twine(files.size()));
    const WeightFile &file = files[number];
    std::optional<uint64_t> last = checkedAdd(offset, *bytes);
    if (!last || *last > file.sizeBytes)
      return fault(symbol + " ends behind the " + Twine(file.sizeBytes) + " bytes of " + file.name());
    WeightSource values{file.file.get(), *type, offset, *rowsOfSource, columns};
    if (!file.file)
      values.random = RandomTensor::ofShape(file.random, weight.getTensorName(piece),
                                            llvm::SmallVector<uint64_t, 3>(shape.begin(), shape.end()));
    result.pieces.push_back({std::move(values), isStack ? (index % indicesOfPiece) * rowsOfIndex : 0});
  }
  return result;
}

Error PiecedWeight::forEachPiece(uint64_t firstRow, uint64_t numRows, Read read) const {
  std::optional<uint64_t> end = checkedAdd(firstRow, numRows);
  if (!end || *end > rowsOfPiece * pieces.size())
    return fault(name + " has " + Twine(rowsOfPiece * pieces.size()) + " rows, but " + Twine(numRows) + " from row " +
                 Twine(firstRow) + " are asked for");
  while (firstRow < *end) {
    uint64_t row = firstRow % rowsOfPiece, count = std::min(rowsOfPiece - row, *end - firstRow);
    const Piece &piece = pieces[firstRow / rowsOfPiece];
    if (Error error = read(piece.source, piece.firstRow + row, count))
      return error;
    firstRow += count;
  }
  return Error::success();
}

Error PiecedWeight::readRows(uint64_t firstRow, uint64_t numRows, llvm::MutableArrayRef<float> out) const {
  if (isColumn) {
    // One row is the whole column.
    if (firstRow != 0 || numRows != 1)
      return fault(name + " is a vector, but rows " + Twine(firstRow) + " to " + Twine(firstRow + numRows) +
                   " are asked for");
    numRows = rowsOfPiece * pieces.size();
  }
  if (out.size() != numRows * numColumns)
    return fault(name + ": " + Twine(numRows) + " rows do not fit " + Twine(out.size()) + " values");
  return forEachPiece(firstRow, numRows, [&](const WeightSource &source, uint64_t row, uint64_t count) {
    llvm::MutableArrayRef<float> own = out.take_front(count * numColumns);
    out = out.drop_front(own.size());
    return readWeightRows(source, row, count, own);
  });
}

Error PiecedWeight::readCodes(uint64_t firstRow, uint64_t numRows, llvm::MutableArrayRef<int8_t> codes,
                              llvm::MutableArrayRef<uint16_t> scales) const {
  if (isColumn || numRows == 0 || codes.size() != numRows * numColumns || scales.size() % numRows)
    return fault(name + ": codes of " + Twine(numRows) + " rows do not fit " + Twine(codes.size()) + " codes and " +
                 Twine(scales.size()) + " scales");
  size_t scalesOfRow = scales.size() / numRows;
  return forEachPiece(firstRow, numRows, [&](const WeightSource &source, uint64_t row, uint64_t count) {
    llvm::MutableArrayRef<int8_t> own = codes.take_front(count * numColumns);
    llvm::MutableArrayRef<uint16_t> ownScales = scales.take_front(count * scalesOfRow);
    codes = codes.drop_front(own.size());
    scales = scales.drop_front(ownScales.size());
    return readWeightCodes(source, row, count, own, ownScales);
  });
}

} // namespace moec
