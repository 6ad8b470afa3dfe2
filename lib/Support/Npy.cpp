// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading and writing of .npy files.
#include "lib/Support/Npy.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <bit>

namespace moec {

namespace {

// The header of a file that is written: fixed, so that the number of rows can be patched at the end.
constexpr size_t kHeaderBytes = 128;
// No header that this reader accepts comes near; it bounds what a broken length field can ask for.
constexpr uint64_t kMaxHeaderBytes = 64 << 10;
constexpr llvm::StringLiteral kMagic("\x93NUMPY");

std::string makeHeader(uint64_t numRows, uint64_t numColumns) {
  std::string text = (kMagic + "\x01").str() + std::string(1, '\0');
  uint16_t length = kHeaderBytes - 10;
  text += static_cast<char>(length & 0xFF);
  text += static_cast<char>(length >> 8);
  text += ("{'descr': '<f4', 'fortran_order': False, 'shape': (" + llvm::Twine(numRows) + ", " +
           llvm::Twine(numColumns) + "), }")
              .str();
  text.resize(kHeaderBytes - 1, ' ');
  return text + '\n';
}

/// The text behind `'key':` in the header's dictionary, or nothing.
std::optional<llvm::StringRef> valueOf(llvm::StringRef header, llvm::StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  return header.drop_front(at + key.size() + 3).ltrim();
}

std::optional<std::vector<uint64_t>> parseShape(llvm::StringRef text) {
  if (!text.consume_front("("))
    return std::nullopt;
  size_t end = text.find(')');
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> parts;
  text.take_front(end).split(parts, ',', -1, /*KeepEmpty=*/false);
  std::vector<uint64_t> shape;
  for (llvm::StringRef part : parts) {
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, shape.emplace_back()))
      return std::nullopt;
  }
  return shape;
}

struct NpyHeader {
  NpyType type;
  std::vector<uint64_t> shape;
  uint64_t dataOffsetBytes;
};

llvm::Expected<NpyHeader> parseDictionary(llvm::StringRef path, llvm::StringRef text, uint64_t dataOffsetBytes) {
  std::optional<llvm::StringRef> descr = valueOf(text, "descr"), order = valueOf(text, "fortran_order"),
                                 shapeText = valueOf(text, "shape");
  std::optional<std::vector<uint64_t>> shape = shapeText ? parseShape(*shapeText) : std::nullopt;
  if (!descr || !order || !shape)
    return fault("'" + path + "' has a broken .npy header, expects descr, fortran_order and shape");
  NpyHeader header{NpyType::Float32, *shape, dataOffsetBytes};
  if (descr->starts_with("'<f2'"))
    header.type = NpyType::Float16;
  else if (descr->starts_with("'|u1'"))
    header.type = NpyType::UInt8;
  else if (!descr->starts_with("'<f4'"))
    return fault("'" + path + "' holds " + descr->take_until([](char c) { return c == ','; }) +
                 ", expects '<f4', '<f2' or '|u1'");
  if (!order->starts_with("False"))
    return fault("'" + path + "' is stored column by column (fortran_order), expects row by row");
  if (shape->empty() || shape->size() > 3)
    return fault("'" + path + "' has " + llvm::Twine(shape->size()) + " dimensions, expects 1 to 3");
  return header;
}

llvm::Expected<NpyHeader> readHeader(const RandomAccessFile &file) {
  uint8_t start[12] = {};
  uint64_t startBytes = std::min<uint64_t>(sizeof(start), file.sizeBytes());
  if (llvm::Error error = file.read(0, {start, static_cast<size_t>(startBytes)}))
    return std::move(error);
  if (startBytes < 10 || llvm::StringRef(reinterpret_cast<const char *>(start), kMagic.size()) != kMagic)
    return fault("'" + file.path() + "' is no .npy file");
  bool isWide = start[6] >= 2;
  uint64_t length = isWide ? llvm::support::endian::read32le(start + 8) : llvm::support::endian::read16le(start + 8);
  uint64_t begin = isWide ? 12 : 10;
  if (length > kMaxHeaderBytes || begin + length > file.sizeBytes())
    return fault("'" + file.path() + "' has a broken .npy header of " + llvm::Twine(length) + " bytes");
  std::string text(static_cast<size_t>(length), '\0');
  if (llvm::Error error = file.read(begin, {reinterpret_cast<uint8_t *>(text.data()), text.size()}))
    return std::move(error);
  return parseDictionary(file.path(), text, begin + length);
}

float decode(NpyType type, const uint8_t *at) {
  switch (type) {
  case NpyType::Float32:
    return std::bit_cast<float>(llvm::support::endian::read32le(at));
  case NpyType::Float16:
    return f16ToF32(llvm::support::endian::read16le(at));
  case NpyType::UInt8:
    break;
  }
  return static_cast<float>(*at);
}

} // namespace

llvm::Expected<NpyWriter> NpyWriter::create(llvm::StringRef path, uint64_t numColumns) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = file->write(makeHeader(0, numColumns)))
    return std::move(error);
  return NpyWriter(std::move(*file), numColumns);
}

llvm::Error NpyWriter::writeRow(llvm::ArrayRef<float> row) {
  static_assert(std::endian::native == std::endian::little, "rows are written as they are in memory");
  if (row.size() != columns)
    return fault("'" + file.path() + "' has rows of " + llvm::Twine(columns) + " values, but got one of " +
                 llvm::Twine(row.size()));
  ++rows;
  return file.write(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(row.data()), row.size() * sizeof(float)));
}

llvm::Error NpyWriter::close() {
  std::string header = makeHeader(rows, columns);
  if (llvm::Error error = file.writeAt(0, {reinterpret_cast<const uint8_t *>(header.data()), header.size()}))
    return error;
  return file.commit();
}

llvm::Expected<NpyArray> readNpy(llvm::StringRef path) {
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  llvm::Expected<NpyHeader> header = readHeader(*file);
  if (!header)
    return header.takeError();
  uint64_t elementBytes = header->type == NpyType::Float32 ? 4 : header->type == NpyType::Float16 ? 2 : 1;
  std::optional<uint64_t> count = checkedProduct(header->shape);
  std::optional<uint64_t> needed = count ? checkedMul(*count, elementBytes) : std::nullopt;
  uint64_t found = file->sizeBytes() - header->dataOffsetBytes;
  if (!needed || *needed != found)
    return fault("'" + path + "' has " + llvm::Twine(found) + " bytes of values, its shape needs " +
                 (needed ? llvm::Twine(*needed).str() : "more than 2^64"));
  std::vector<uint8_t> bytes(static_cast<size_t>(found));
  if (llvm::Error error = file->read(header->dataOffsetBytes, bytes))
    return std::move(error);
  NpyArray array{header->type, header->shape, std::vector<float>(static_cast<size_t>(*count))};
  for (size_t i = 0; i < array.values.size(); ++i)
    array.values[i] = decode(array.type, bytes.data() + i * elementBytes);
  return std::move(array);
}

} // namespace moec
