// SPDX-License-Identifier: Apache-2.0
/// \file
/// From float rows to stored bytes, piece by piece.
#include "lib/Pack/PieceEncoder.h"

#include "lib/Pack/RowFormat.h"
#include "lib/Pack/TilePacker.h"
#include "lib/Quant/Quantize.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cstring>
#include <optional>

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

/// Values of a strip, 512 KiB of f32: they stay in a second-level cache from where they come from to their codes.
static constexpr int64_t kStripValues = int64_t(1) << 17;

/// Rows of a piece that go through all steps together; whole row tiles of a matrix. Its buffers only grow.
struct PieceEncoder::Strip {
  const PackTensor *tensor = nullptr;
  int64_t rowBegin = 0, numRows = 0;
  std::vector<float> values;
  std::vector<int8_t> codes;
  std::vector<uint16_t> scales;

  const TensorEntry &entry() const { return tensor->entry; }
  int64_t numScales() const { return entry().encoding.numScales(entry().cols); }
  llvm::ArrayRef<float> rows(int64_t first, int64_t count) const {
    return llvm::ArrayRef(values).slice(first * entry().cols, count * entry().cols);
  }
  llvm::ArrayRef<int8_t> codesOf(int64_t first, int64_t count) const {
    return llvm::ArrayRef(codes).slice(first * entry().cols, count * entry().cols);
  }
  llvm::ArrayRef<uint16_t> scalesOf(int64_t first, int64_t count) const {
    return llvm::ArrayRef(scales).slice(first * numScales(), count * numScales());
  }

  void begin(const PackTensor &of, int64_t firstRow, int64_t count) {
    tensor = &of;
    rowBegin = firstRow;
    numRows = count;
    size_t numValues = static_cast<size_t>(count * entry().cols);
    values.resize(std::max(values.size(), numValues));
    codes.resize(std::max(codes.size(), entry().encoding.isInteger() ? numValues : 0));
    scales.resize(std::max(scales.size(), static_cast<size_t>(count * numScales())));
  }

  /// Fills codes and scales, or values where they stay floats.
  llvm::Error fill(const TensorSource &source, size_t number) {
    llvm::MutableArrayRef<float> wanted(values.data(), numRows * entry().cols);
    if (entry().encoding.isInteger() && !tensor->generate && source.hasCodes(number))
      return takeCodes(source, number);
    if (tensor->generate)
      tensor->generate(rowBegin, rowBegin + numRows, wanted);
    else if (llvm::Error error = source.readRows(number, rowBegin, rowBegin + numRows, wanted))
      return error;
    return quantize();
  }

  /// Quantizes all rows, or checks them where they stay floats.
  llvm::Error quantize() {
    bool isInteger = entry().encoding.isInteger();
    int64_t cols = entry().cols;
    for (int64_t r = 0; r < numRows; ++r) {
      llvm::Error error = isInteger ? quantizeRow(rows(r, 1), entry().encoding, entry().name, rowBegin + r,
                                                  llvm::MutableArrayRef(codes).slice(r * cols, cols),
                                                  llvm::MutableArrayRef(scales).slice(r * numScales(), numScales()))
                                    : checkFloats(rows(r, 1), entry().encoding, entry().name, rowBegin + r);
      if (error)
        return error;
    }
    return llvm::Error::success();
  }

  /// Takes codes and scales from the source.
  llvm::Error takeCodes(const TensorSource &source, size_t number) {
    if (llvm::Error error = source.readCodes(number, rowBegin, rowBegin + numRows,
                                             llvm::MutableArrayRef(codes).take_front(numRows * entry().cols),
                                             llvm::MutableArrayRef(scales).take_front(numRows * numScales())))
      return error;
    for (int64_t r = 0; r < numRows; ++r)
      if (llvm::Error error = checkScales(scalesOf(r, 1), entry().encoding, entry().name, rowBegin + r))
        return error;
    return llvm::Error::success();
  }

  void packTiles(const TilePacker &packer, const Layout &layout, llvm::MutableArrayRef<uint8_t> out) const {
    for (int64_t first = 0; first < numRows; first += layout.rowTile()) {
      int64_t n = std::min(layout.rowTile(), numRows - first), tile = (rowBegin + first) / layout.rowTile();
      llvm::MutableArrayRef<uint8_t> bytes = out.take_front(layout.tileBytes());
      out = out.drop_front(bytes.size());
      if (entry().encoding.isInteger())
        packer.pack(tile, codesOf(first, n), scalesOf(first, n), bytes);
      else
        packer.pack(tile, rows(first, n), bytes);
    }
  }

  void packRows(const moepack_header &header, llvm::MutableArrayRef<uint8_t> out) const {
    uint64_t payload = rowPayloadBytes(entry().cols, entry().encoding), stride = payload + kRowChecksumBytes;
    for (int64_t r = 0; r < numRows; ++r) {
      llvm::MutableArrayRef<uint8_t> bytes = out.slice(r * stride, payload);
      if (entry().encoding.isInteger())
        packRow(codesOf(r, 1), scalesOf(r, 1), entry().encoding, bytes);
      else
        packRow(rows(r, 1), entry().encoding, bytes);
      llvm::support::endian::write64le(bytes.end(), moepack_row_checksum(hash64(bytes), header.plan_id, rowBegin + r));
    }
  }
};

PieceEncoder::PieceEncoder(const PackPlan &plan, const TensorSource &source)
    : plan(plan), source(source), strip(std::make_unique<Strip>()) {}
PieceEncoder::~PieceEncoder() = default;

llvm::Expected<std::vector<uint8_t>> PieceEncoder::encode(const PackPiece &piece) {
  const PackTensor &tensor = plan.tensors()[piece.tensor];
  std::optional<Layout> layout;
  std::optional<TilePacker> packer;
  if (tensor.entry.storage == TensorStorage::Matrix)
    packer.emplace(layout.emplace(plan.layoutOf(piece.tensor)));
  int64_t unit = layout ? layout->rowTile() : 1;
  int64_t rowsOfStrip = std::max<int64_t>(1, kStripValues / tensor.entry.cols / unit) * unit;
  std::vector<uint8_t> bytes(bytesOfRows(plan, piece.tensor, piece.rowEnd - piece.rowBegin));
  for (int64_t row = piece.rowBegin; row < piece.rowEnd; row += rowsOfStrip) {
    strip->begin(tensor, row, std::min(rowsOfStrip, piece.rowEnd - row));
    if (llvm::Error error = strip->fill(source, piece.tensor))
      return std::move(error);
    llvm::MutableArrayRef<uint8_t> out =
        llvm::MutableArrayRef(bytes).drop_front(bytesOfRows(plan, piece.tensor, row - piece.rowBegin));
    switch (tensor.entry.storage) {
    case TensorStorage::Matrix:
      strip->packTiles(*packer, *layout, out);
      break;
    case TensorStorage::Raw:
      std::memcpy(out.data(), strip->values.data(), strip->numRows * tensor.entry.cols * sizeof(float));
      break;
    case TensorStorage::Rows:
      strip->packRows(plan.header(), out);
      break;
    }
  }
  return bytes;
}

} // namespace moec
