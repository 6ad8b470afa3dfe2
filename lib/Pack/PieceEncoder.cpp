// SPDX-License-Identifier: Apache-2.0
/// \file
/// From float rows to stored bytes, piece by piece.
#include "lib/Pack/PieceEncoder.h"

#include "lib/Pack/RowFormat.h"
#include "lib/Quant/Quantize.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cstring>

namespace moec {

/// Values of a piece: 4 MiB of f32, enough that a read from flash or disk is long, small beside a laptop's memory.
static constexpr int64_t kPieceValues = int64_t(1) << 20;

/// Bytes of rows [0, rows) of a tensor; `rows` whole tiles or all rows.
static uint64_t bytesOfRows(const PackPlan &plan, size_t tensor, int64_t rows) {
  const TensorEntry &entry = plan.tensors()[tensor].entry;
  switch (entry.storage) {
  case TensorStorage::Matrix: {
    Layout layout = plan.layoutOf(tensor);
    return static_cast<uint64_t>((rows + layout.rowTile() - 1) / layout.rowTile() * layout.tileBytes());
  }
  case TensorStorage::Raw:
    return static_cast<uint64_t>(rows) * entry.cols * 4;
  case TensorStorage::Rows:
    return static_cast<uint64_t>(rows) * (rowPayloadBytes(entry.cols, entry.encoding) + kRowChecksumBytes);
  }
  return 0;
}

std::vector<PackPiece> piecesOf(const PackPlan &plan) {
  std::vector<PackPiece> pieces;
  for (auto [r, record] : llvm::enumerate(plan.records()))
    for (size_t tensor : record.tensors) {
      const TensorEntry &entry = plan.tensors()[tensor].entry;
      int64_t unit = entry.storage == TensorStorage::Matrix ? plan.layoutOf(tensor).rowTile() : 1;
      int64_t rows = std::max<int64_t>(1, kPieceValues / entry.cols / unit) * unit;
      for (int64_t row = 0; row < entry.rows; row += rows)
        pieces.push_back({static_cast<uint32_t>(r), tensor, row, std::min(row + rows, entry.rows),
                          record.record.offset + entry.offset + bytesOfRows(plan, tensor, row)});
    }
  return pieces;
}

namespace {

/// The rows of one piece while it is encoded.
struct PieceRows {
  const TensorEntry &entry;
  int64_t rowBegin, numRows;
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<uint16_t> scales;

  llvm::ArrayRef<float> row(int64_t r) const { return llvm::ArrayRef(values).slice(r * entry.cols, entry.cols); }
  int64_t numScales() const { return entry.encoding.numScales(entry.cols); }

  /// Quantizes all rows, or checks them where they stay floats.
  llvm::Error quantize() {
    bool isInteger = entry.encoding.isInteger();
    codes.resize(isInteger ? values.size() : 0);
    scales.resize(numRows * numScales());
    for (int64_t r = 0; r < numRows; ++r) {
      llvm::Error error = isInteger ? quantizeRow(row(r), entry.encoding, entry.name, rowBegin + r,
                                                  llvm::MutableArrayRef(codes).slice(r * entry.cols, entry.cols),
                                                  llvm::MutableArrayRef(scales).slice(r * numScales(), numScales()))
                                    : checkFloats(row(r), entry.encoding, entry.name, rowBegin + r);
      if (error)
        return error;
    }
    return llvm::Error::success();
  }

  /// Takes codes and scales from the source.
  llvm::Error takeCodes(const TensorSource &source, size_t tensor) {
    codes.resize(numRows * entry.cols);
    scales.resize(numRows * numScales());
    if (llvm::Error error = source.readCodes(tensor, rowBegin, rowBegin + numRows, codes, scales))
      return error;
    for (int64_t r = 0; r < numRows; ++r)
      if (llvm::Error error = checkScales(llvm::ArrayRef(scales).slice(r * numScales(), numScales()), entry.encoding,
                                          entry.name, rowBegin + r))
        return error;
    return llvm::Error::success();
  }

  void encodeMatrix(const Layout &layout, llvm::MutableArrayRef<uint8_t> out) const {
    for (int64_t first = 0; first < numRows; first += layout.rowTile()) {
      int64_t n = std::min(layout.rowTile(), numRows - first), tile = (rowBegin + first) / layout.rowTile();
      int64_t start = first / layout.rowTile() * layout.tileBytes();
      llvm::MutableArrayRef<uint8_t> bytes = out.slice(start, layout.tileBytes());
      if (entry.encoding.isInteger())
        layout.packTile(tile, llvm::ArrayRef(codes).slice(first * entry.cols, n * entry.cols),
                        llvm::ArrayRef(scales).slice(first * numScales(), n * numScales()), bytes);
      else
        layout.packTile(tile, llvm::ArrayRef(values).slice(first * entry.cols, n * entry.cols), bytes);
    }
  }

  void encodeRows(const moepack_header &header, llvm::MutableArrayRef<uint8_t> out) const {
    uint64_t payload = rowPayloadBytes(entry.cols, entry.encoding), stride = payload + kRowChecksumBytes;
    for (int64_t r = 0; r < numRows; ++r) {
      llvm::MutableArrayRef<uint8_t> bytes = out.slice(r * stride, payload);
      if (entry.encoding.isInteger())
        packRow(llvm::ArrayRef(codes).slice(r * entry.cols, entry.cols),
                llvm::ArrayRef(scales).slice(r * numScales(), numScales()), entry.encoding, bytes);
      else
        packRow(row(r), entry.encoding, bytes);
      llvm::support::endian::write64le(bytes.end(), moepack_row_checksum(hash64(bytes), header.plan_id, rowBegin + r));
    }
  }
};

} // namespace

llvm::Expected<std::vector<uint8_t>> encodePiece(const PackPlan &plan, const TensorSource &source,
                                                 const PackPiece &piece) {
  const PackTensor &tensor = plan.tensors()[piece.tensor];
  PieceRows rows{tensor.entry, piece.rowBegin, piece.rowEnd - piece.rowBegin, {}, {}, {}};
  if (tensor.entry.encoding.isInteger() && !tensor.generate && source.hasCodes(piece.tensor)) {
    if (llvm::Error error = rows.takeCodes(source, piece.tensor))
      return std::move(error);
  } else {
    rows.values.resize(rows.numRows * tensor.entry.cols);
    if (tensor.generate)
      tensor.generate(piece.rowBegin, piece.rowEnd, rows.values);
    else if (llvm::Error error = source.readRows(piece.tensor, piece.rowBegin, piece.rowEnd, rows.values))
      return std::move(error);
    if (llvm::Error error = rows.quantize())
      return std::move(error);
  }
  std::vector<uint8_t> bytes(bytesOfRows(plan, piece.tensor, rows.numRows));
  switch (tensor.entry.storage) {
  case TensorStorage::Matrix:
    rows.encodeMatrix(plan.layoutOf(piece.tensor), bytes);
    break;
  case TensorStorage::Raw:
    std::memcpy(bytes.data(), rows.values.data(), bytes.size());
    break;
  case TensorStorage::Rows:
    rows.encodeRows(plan.header(), bytes);
    break;
  }
  return bytes;
}

} // namespace moec
