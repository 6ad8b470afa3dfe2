// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading and conversion of weights.
#include "lib/Import/WeightReader.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

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
  default: // BF16: readWeightRows lets no other type through
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = bf16ToF32(endian::read16le(bytes + 2 * i));
    return;
  }
}

RandomType randomTypeOf(TensorType type) {
  return type == TensorType::F32 ? RandomType::F32 : type == TensorType::F16 ? RandomType::F16 : RandomType::BF16;
}

} // namespace

Error readWeightRows(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                     llvm::MutableArrayRef<float> out) {
  const std::string path = source.random ? "generated weights" : source.file->path();
  if (!isWeightType(source.type))
    return fault("'" + path + "': cannot read weights of dtype " + tensorTypeName(source.type) +
                 ", expects F32, F16 or BF16");
  std::optional<uint64_t> end = checkedAdd(firstRow, numRows);
  if (!end || *end > source.numRows)
    return fault("'" + path + "': rows " + Twine(firstRow) + " and " + Twine(numRows) +
                 " more are outside a weight of " + Twine(source.numRows) + " rows");
  uint64_t elementBytes = tensorTypeBytes(source.type);
  std::optional<uint64_t> first = checkedMul(firstRow, source.numColumns);
  std::optional<uint64_t> count = checkedMul(numRows, source.numColumns);
  std::optional<uint64_t> skipped = first ? checkedMul(*first, elementBytes) : std::nullopt;
  std::optional<uint64_t> begin = skipped ? checkedAdd(source.offsetBytes, *skipped) : std::nullopt;
  if (!count || !begin)
    return fault("'" + path + "': a weight of " + Twine(source.numRows) + " x " + Twine(source.numColumns) +
                 " values at " + Twine(source.offsetBytes) + " is 2^64 bytes or more");
  if (*count != out.size())
    return fault("'" + path + "': " + Twine(*count) + " values do not fit " + Twine(out.size()));
  if (source.random) {
    source.random->values(randomTypeOf(source.type), *begin / elementBytes, out);
    return Error::success();
  }
  std::vector<uint8_t> piece(static_cast<size_t>(std::min<uint64_t>(kPieceBytes, *count * elementBytes)));
  for (uint64_t done = 0; done < *count;) {
    uint64_t values = std::min<uint64_t>(*count - done, kPieceBytes / elementBytes);
    llvm::MutableArrayRef<uint8_t> bytes = llvm::MutableArrayRef(piece).take_front(values * elementBytes);
    if (Error error = source.file->read(*begin + done * elementBytes, bytes))
      return error;
    convert(source.type, bytes.data(), out.slice(done, values));
    done += values;
  }
  return Error::success();
}

llvm::Expected<std::vector<float>> readWeight(llvm::StringRef path, TensorType type, uint64_t offsetBytes,
                                              uint64_t numRows, uint64_t numColumns) {
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  std::optional<uint64_t> count = checkedMul(numRows, numColumns);
  // The file must hold them, so a broken size cannot ask for more memory than the file has bytes.
  if (!count || *count > file->sizeBytes())
    return fault("'" + path + "' has " + Twine(file->sizeBytes()) + " bytes, too few for " + Twine(numRows) + " x " +
                 Twine(numColumns) + " values");
  std::vector<float> values(static_cast<size_t>(*count));
  if (Error error = readWeightRows({&*file, type, offsetBytes, numRows, numColumns}, 0, numRows, values))
    return std::move(error);
  return std::move(values);
}

} // namespace moec
