// SPDX-License-Identifier: Apache-2.0
/// \file
/// Opening a pack, finding and dequantizing tensors.
#include "lib/Pack/PackReader.h"

#include "lib/Pack/PackPlan.h"
#include "lib/Pack/RowFormat.h"
#include "lib/Quant/Quantize.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

#include <algorithm>
#include <cstring>

namespace moec {

using llvm::Twine;

template <typename T> static llvm::MutableArrayRef<uint8_t> bytesOf(std::vector<T> &values) {
  return {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(T)};
}

llvm::Expected<PackReader> PackReader::open(llvm::StringRef path) {
  PackReader reader;
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  reader.files.push_back(std::move(*file));
  if (llvm::Error error = reader.readHeader())
    return std::move(error);
  if (llvm::Error error = reader.readTables())
    return std::move(error);
  if (llvm::Error error = reader.checkParts())
    return std::move(error);
  if (llvm::Error error = reader.openParts())
    return std::move(error);
  if (llvm::Error error = reader.checkRecords())
    return std::move(error);
  if (llvm::Error error = reader.checkTensors())
    return std::move(error);
  return reader;
}

llvm::Error PackReader::readHeader() {
  const RandomAccessFile &file = files.front();
  std::array<uint8_t, sizeof(moepack_header)> bytes{};
  size_t found = std::min<uint64_t>(file.sizeBytes(), bytes.size());
  if (llvm::Error error = file.read(0, llvm::MutableArrayRef(bytes).take_front(found)))
    return error;
  if (std::memcmp(bytes.data(), MOEPACK_MAGIC, std::min<size_t>(found, 8)) != 0 || found == 0)
    return fault("'" + path() + "' is not a weight pack: it does not begin with '" MOEPACK_MAGIC "'");
  if (file.sizeBytes() < MOEPACK_PAGE_BYTES)
    return fault("'" + path() + "' is truncated: found " + Twine(file.sizeBytes()) + " bytes, needed at least " +
                 Twine(MOEPACK_PAGE_BYTES));
  std::memcpy(&packHeader, bytes.data(), sizeof(packHeader));
  return checkHeader();
}

llvm::Error PackReader::readTables() {
  // checkHeader has bounded all sizes by the size of the file.
  recordList.resize(packHeader.num_records);
  partList.resize(packHeader.num_parts);
  std::string text(packHeader.tensor_table_bytes, '\0');
  llvm::MutableArrayRef<uint8_t> textBytes(reinterpret_cast<uint8_t *>(text.data()), text.size());
  for (auto [offset, bytes] : {std::pair(packHeader.directory_offset, bytesOf(recordList)),
                               std::pair(packHeader.tensor_table_offset, textBytes),
                               std::pair(packHeader.part_table_offset, bytesOf(partList))})
    if (llvm::Error error = files.front().read(offset, bytes))
      return error;
  if (hash128(bytesOf(recordList)) != weightsId())
    return damaged("directory: its hash is " + hash128(bytesOf(recordList)).toHex() +
                   ", the weights id in the header says " + weightsId().toHex());
  llvm::StringRef table = llvm::StringRef(text).drop_back(kTableChecksumBytes);
  llvm::StringRef found = llvm::StringRef(text).take_back(kTableChecksumBytes);
  std::string expected = writeTableChecksum(table, bytesOf(partList));
  if (found != expected)
    return damaged("tensor table or part table: their checksum does not match");
  return parseTensorTable(table, path()).moveInto(tensorList);
}

llvm::Error PackReader::openParts() {
  std::string base = path();
  for (size_t i = 0; i < partList.size(); ++i) {
    if (i > 0) {
      llvm::Expected<RandomAccessFile> file = RandomAccessFile::open((base + "." + Twine(i)).str());
      if (!file)
        return fault("part " + Twine(i) + " of " + Twine(partList.size()) + " of '" + base +
                     "' is missing: " + llvm::toString(file.takeError()));
      files.push_back(std::move(*file));
    }
    uint64_t found = files[i].sizeBytes(), needed = partList[i].bytes;
    if (found != needed)
      return fault("'" + files[i].path() + "' is " + (found < needed ? "truncated" : "too long") + ": found " +
                   Twine(found) + " bytes, needed " + Twine(needed));
  }
  return llvm::Error::success();
}

Digest128 PackReader::planId() const { return Digest128::fromBytes(std::to_array(packHeader.plan_id)); }
Digest128 PackReader::weightsId() const { return Digest128::fromBytes(std::to_array(packHeader.weights_id)); }

std::pair<const RandomAccessFile *, uint64_t> PackReader::locate(uint64_t offset) const {
  auto after = std::upper_bound(partList.begin(), partList.end(), offset,
                                [](uint64_t value, const moepack_part &part) { return value < part.start; });
  size_t part = after - partList.begin() - 1;
  return {&files[part], offset - partList[part].start};
}

llvm::Error PackReader::readBytes(uint64_t offset, llvm::MutableArrayRef<uint8_t> bytes) const {
  auto [file, inFile] = locate(offset);
  return file->read(inFile, bytes);
}

std::string PackReader::describe(size_t record) const {
  std::string names;
  for (size_t tensor : tensorsOf[record])
    names += (names.empty() ? "'" : ", '") + tensorList[tensor].name + "'";
  const moepack_record &r = recordList[record];
  if (r.kind == MOEPACK_RECORD_EXPERT)
    return "expert " + std::to_string(r.expert) + " of layer " + std::to_string(r.layer) + " (" + names + ")";
  return (r.kind == MOEPACK_RECORD_RESIDENT ? "resident tensor " : "row table ") + names;
}

std::optional<size_t> PackReader::findTensor(llvm::StringRef name) const {
  for (size_t i = 0; i < tensorList.size(); ++i)
    if (tensorList[i].name == name)
      return i;
  return std::nullopt;
}

llvm::Expected<std::vector<float>> PackReader::readTensor(size_t tensor) const {
  const TensorEntry &entry = tensorList[tensor];
  const moepack_record &record = recordList[entry.record];
  // checkTensors has proven that the tensor lies in its record.
  uint64_t bytes = uint64_t(entry.rows) * entry.cols * 4, stride = 0;
  std::optional<Layout> layout;
  if (entry.storage == TensorStorage::Matrix) {
    layout = cantFail(Layout::create(family(), entry.rows, entry.cols, entry.encoding, entry.name));
    bytes = layout->totalBytes();
  } else if (entry.storage == TensorStorage::Rows) {
    stride = record.row_bytes + kRowChecksumBytes;
    bytes = record.bytes;
  }
  std::vector<uint8_t> stored(bytes);
  if (llvm::Error error = readBytes(record.offset + entry.offset, stored))
    return std::move(error);
  std::vector<float> values(uint64_t(entry.rows) * entry.cols);
  std::vector<int8_t> codes(entry.encoding.isInteger() ? entry.cols : 0);
  std::vector<uint16_t> scales(entry.encoding.numScales(entry.cols));
  for (int64_t r = 0; r < entry.rows; ++r) {
    llvm::MutableArrayRef<float> row = llvm::MutableArrayRef(values).slice(r * entry.cols, entry.cols);
    // Raw tensors are rows of floats without a checksum between them.
    llvm::ArrayRef<uint8_t> rowBytes;
    if (!layout)
      rowBytes = llvm::ArrayRef(stored).slice(r * (stride ? stride : entry.cols * 4),
                                              stride ? uint64_t(record.row_bytes) : uint64_t(entry.cols) * 4);
    if (!entry.encoding.isInteger()) {
      layout ? layout->unpackRow(stored, r, row) : unpackRow(rowBytes, entry.encoding, row);
      continue;
    }
    layout ? layout->unpackRow(stored, r, codes, scales) : unpackRow(rowBytes, entry.encoding, codes, scales);
    dequantizeRow(codes, scales, entry.encoding, row);
  }
  return values;
}

} // namespace moec
