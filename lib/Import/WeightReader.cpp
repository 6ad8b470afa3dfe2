// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading and conversion of weights.
#include "lib/Import/WeightReader.h"

#include "lib/Import/BlockTypes.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <bit>

using llvm::Error;
using llvm::Twine;

namespace moec {

namespace {

// Large enough that the system calls do not count, small enough for every thread to have one.
constexpr uint64_t kPieceBytes = 1 << 20;

void convert(TensorType type, const uint8_t *bytes, llvm::MutableArrayRef<float> out) {
  namespace endian = llvm::support::endian;
  switch (type) {
  case TensorType::F32:
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<float>(endian::read32le(bytes + 4 * i));
    return;
  case TensorType::F16:
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = f16ToF32(endian::read16le(bytes + 2 * i));
    return;
  case TensorType::BF16:
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = bf16ToF32(endian::read16le(bytes + 2 * i));
    return;
  default: // readWeightRows lets no other types through
    dequantizeBlocks(type, bytes, out);
    return;
  }
}

struct ByteRange {
  uint64_t begin, size;
};

RandomType randomTypeOf(TensorType type) {
  return type == TensorType::F32 ? RandomType::F32 : type == TensorType::F16 ? RandomType::F16 : RandomType::BF16;
}

} // namespace

/// Where rows of a source stand: bytes from `begin` on.
static llvm::Expected<ByteRange> bytesOfRows(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                                             uint64_t numValues) {
  const std::string path = source.random ? "generated weights" : source.file->path();
  if (!isWeightType(source.type))
    return fault("'" + path + "': cannot read weights of dtype " + tensorTypeName(source.type) +
                 ", expects F32, F16, BF16, Q8_0, Q4_0, Q4_1 or Q6_K");
  TypeBlock block = tensorTypeBlock(source.type);
  if (source.numColumns % block.values)
    return fault("'" + path + "': a weight of " + Twine(source.numColumns) + " columns is not in whole blocks of " +
                 Twine(block.values) + " values (" + tensorTypeName(source.type) + ")");
  std::optional<uint64_t> end = checkedAdd(firstRow, numRows);
  if (!end || *end > source.numRows)
    return fault("'" + path + "': rows " + Twine(firstRow) + " and " + Twine(numRows) +
                 " more are outside a weight of " + Twine(source.numRows) + " rows");
  std::optional<uint64_t> first = checkedMul(firstRow, source.numColumns);
  std::optional<uint64_t> count = checkedMul(numRows, source.numColumns);
  std::optional<uint64_t> skipped = first ? tensorTypeBytes(source.type, *first) : std::nullopt;
  std::optional<uint64_t> size = count ? tensorTypeBytes(source.type, *count) : std::nullopt;
  std::optional<uint64_t> begin = skipped ? checkedAdd(source.offsetBytes, *skipped) : std::nullopt;
  if (!size || !begin)
    return fault("'" + path + "': a weight of " + Twine(source.numRows) + " x " + Twine(source.numColumns) +
                 " values at " + Twine(source.offsetBytes) + " is 2^64 bytes or more");
  if (*count != numValues)
    return fault("'" + path + "': " + Twine(*count) + " values do not fit " + Twine(numValues));
  return ByteRange{*begin, *size};
}

/// Gives the bytes of a range in pieces of whole blocks, each with the number of its first value.
static Error readPieces(const WeightSource &source, ByteRange range,
                        llvm::function_ref<void(llvm::ArrayRef<uint8_t> bytes, uint64_t firstValue)> use) {
  TypeBlock block = tensorTypeBlock(source.type);
  std::vector<uint8_t> piece(static_cast<size_t>(std::min(kPieceBytes / block.bytes * block.bytes, range.size)));
  for (uint64_t done = 0; done < range.size; done += piece.size()) {
    llvm::MutableArrayRef<uint8_t> bytes =
        llvm::MutableArrayRef(piece).take_front(std::min<uint64_t>(range.size - done, piece.size()));
    if (Error error = source.file->read(range.begin + done, bytes))
      return error;
    use(bytes, done / block.bytes * block.values);
  }
  return Error::success();
}

Error readWeightRows(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                     llvm::MutableArrayRef<float> out) {
  llvm::Expected<ByteRange> range = bytesOfRows(source, firstRow, numRows, out.size());
  if (!range)
    return range.takeError();
  TypeBlock block = tensorTypeBlock(source.type);
  if (source.random) {
    source.random->values(randomTypeOf(source.type), range->begin / block.bytes, out);
    return Error::success();
  }
  return readPieces(source, *range, [&](llvm::ArrayRef<uint8_t> bytes, uint64_t firstValue) {
    convert(source.type, bytes.data(), out.slice(firstValue, bytes.size() / block.bytes * block.values));
  });
}

Error readWeightCodes(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                      llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales) {
  bool hasMinima = source.type == TensorType::Q4_1;
  if (!hasMinima && source.type != TensorType::Q8_0 && source.type != TensorType::Q4_0)
    return fault(llvm::Twine("weights of dtype ") + tensorTypeName(source.type) +
                 " have no codes to keep, expects Q8_0, Q4_0 or Q4_1");
  llvm::Expected<ByteRange> range = bytesOfRows(source, firstRow, numRows, codes.size());
  if (!range)
    return range.takeError();
  uint64_t groups = source.numColumns / 32, stride = groups * (hasMinima ? 2 : 1);
  if (scales.size() != numRows * stride)
    return fault("'" + source.file->path() + "': " + Twine(numRows * stride) + " scales do not fit " +
                 Twine(scales.size()));
  std::vector<uint8_t> row(static_cast<size_t>(numRows ? range->size / numRows : 0));
  for (uint64_t r = 0; r < numRows; ++r) {
    if (Error error = source.file->read(range->begin + r * row.size(), row))
      return error;
    llvm::MutableArrayRef<uint16_t> own = scales.slice(r * stride, stride);
    unpackBlocks(source.type, row.data(), codes.slice(r * source.numColumns, source.numColumns), own.take_front(groups),
                 own.drop_front(groups));
  }
  return Error::success();
}

llvm::Expected<std::vector<float>> readWeight(llvm::StringRef path, TensorType type, uint64_t offsetBytes,
                                              uint64_t numRows, uint64_t numColumns) {
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  std::optional<uint64_t> count = checkedMul(numRows, numColumns);
  std::optional<uint64_t> size = count ? tensorTypeBytes(type, *count) : std::nullopt;
  // The file must hold them, so a broken size cannot ask for much more memory than the file has bytes.
  if (!size || *size > file->sizeBytes())
    return fault("'" + path + "' has " + Twine(file->sizeBytes()) + " bytes, too few for " + Twine(numRows) + " x " +
                 Twine(numColumns) + " values");
  std::vector<float> values(static_cast<size_t>(*count));
  if (Error error = readWeightRows({&*file, type, offsetBytes, numRows, numColumns}, 0, numRows, values))
    return std::move(error);
  return std::move(values);
}

} // namespace moec
