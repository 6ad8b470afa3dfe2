// SPDX-License-Identifier: Apache-2.0
/// \file
/// Collects what a pack holds: tensors and their records.
#include "lib/Pack/PackPlan.h"

#include "lib/Pack/Placement.h"
#include "lib/Pack/RowFormat.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace moec {

using llvm::Twine;

static llvm::Error tooLarge(llvm::StringRef name) {
  return fault("'" + name + "' does not fit: the pack would exceed 2^64 bytes");
}

/// Bytes of a matrix in the layout of `family`, after all checks.
static llvm::Expected<uint64_t> matrixBytes(LayoutFamily family, llvm::StringRef name, int64_t rows, int64_t cols,
                                            Encoding encoding) {
  llvm::Expected<Layout> layout = Layout::create(family, rows, cols, encoding, name);
  if (!layout)
    return layout.takeError();
  return static_cast<uint64_t>(layout->totalBytes());
}

size_t PackPlan::addTensor(PackTensor tensor) {
  tensorList.push_back(std::move(tensor));
  return tensorList.size() - 1;
}

llvm::Expected<size_t> PackPlan::addSegmentTensor(PackTensor tensor, int32_t layer,
                                                  std::optional<uint64_t> segmentOffset) {
  const std::string &name = tensor.entry.name;
  // Tensors before this one end at residentEnd: the segment goes on from there.
  ResidentSegment segment;
  segment.place(residentEnd);
  std::optional<uint64_t> offset = segmentOffset ? segmentOffset : segment.place(tensor.bytes);
  std::optional<uint64_t> end = offset ? checkedAdd(*offset, tensor.bytes) : std::nullopt;
  if (!end || !checkedAlignUp(*end, MOEPACK_PAGE_BYTES))
    return tooLarge(name);
  if (*offset % MOEPACK_TENSOR_ALIGN || *offset < residentEnd)
    return fault("'" + name + "' is placed at offset " + Twine(*offset) +
                 " of the resident segment, expected a multiple of " + Twine(MOEPACK_TENSOR_ALIGN) + " not before " +
                 Twine(residentEnd));
  residentEnd = *end;
  PackRecord record;
  record.record = {MOEPACK_RECORD_RESIDENT, layer, -1, 0, *offset, tensor.bytes, 0, 0};
  record.tensors = {addTensor(std::move(tensor))};
  residentRecords.push_back(std::move(record));
  return tensorList.size() - 1;
}

llvm::Expected<size_t> PackPlan::addResident(llvm::StringRef name, int64_t rows, int64_t cols, Encoding encoding,
                                             int32_t layer, std::optional<uint64_t> segmentOffset) {
  llvm::Expected<uint64_t> bytes = matrixBytes(layoutFamily, name, rows, cols, encoding);
  if (!bytes)
    return bytes.takeError();
  PackTensor tensor{{name.str(), TensorStorage::Matrix, encoding, rows, cols}, *bytes, {}, {}};
  return addSegmentTensor(std::move(tensor), layer, segmentOffset);
}

llvm::Expected<size_t> PackPlan::addResidentRaw(llvm::StringRef name, int64_t rows, int64_t cols, int32_t layer,
                                                std::optional<uint64_t> segmentOffset) {
  // The layout's limits keep the product below 2^62.
  if (llvm::Error error = matrixBytes(layoutFamily, name, rows, cols, Encoding::f32()).takeError())
    return std::move(error);
  PackTensor tensor{{name.str(), TensorStorage::Raw, Encoding::f32(), rows, cols}, uint64_t(rows) * cols * 4, {}, {}};
  return addSegmentTensor(std::move(tensor), layer, segmentOffset);
}

llvm::Expected<size_t> PackPlan::addGenerated(llvm::StringRef name, int64_t rows, int64_t cols, llvm::StringRef recipe,
                                              RowGenerator generate, std::optional<uint64_t> segmentOffset) {
  llvm::Expected<size_t> tensor = addResidentRaw(name, rows, cols, -1, segmentOffset);
  if (!tensor)
    return tensor;
  tensorList[*tensor].generate = std::move(generate);
  tensorList[*tensor].recipe = recipe.str();
  return tensor;
}

llvm::Expected<size_t> PackPlan::addRowTable(llvm::StringRef name, int64_t rows, int64_t cols, Encoding encoding) {
  if (llvm::Error error = matrixBytes(layoutFamily, name, rows, cols, encoding).takeError())
    return std::move(error);
  uint64_t rowBytes = rowPayloadBytes(cols, encoding);
  std::optional<uint64_t> bytes = checkedMul(uint64_t(rows), rowBytes + kRowChecksumBytes);
  if (!bytes || rowBytes > UINT32_MAX)
    return tooLarge(name);
  PackRecord record;
  record.record = {MOEPACK_RECORD_ROWS, -1, -1, 0, 0, *bytes, rowBytes, 0};
  record.tensors = {addTensor({{name.str(), TensorStorage::Rows, encoding, rows, cols}, *bytes, {}, {}})};
  rowRecords.push_back(std::move(record));
  return tensorList.size() - 1;
}

llvm::Expected<size_t> PackPlan::addExpert(int32_t layer, int32_t expert, const std::array<ExpertMatrix, 3> &matrices) {
  std::array<uint64_t, 3> bytes{};
  for (size_t i = 0; i < 3; ++i) {
    const ExpertMatrix &m = matrices[i];
    if (llvm::Error error = matrixBytes(layoutFamily, m.name, m.rows, m.cols, m.encoding).moveInto(bytes[i]))
      return std::move(error);
  }
  std::optional<ExpertPlacement> placement = placeExpert(bytes);
  if (!placement)
    return tooLarge(matrices[0].name);
  PackRecord record;
  record.record = {MOEPACK_RECORD_EXPERT, layer, expert, 0, 0, placement->recordBytes, 0, 0};
  for (size_t i = 0; i < 3; ++i) {
    const ExpertMatrix &m = matrices[i];
    TensorEntry entry{m.name, TensorStorage::Matrix, m.encoding, m.rows, m.cols, 0, placement->offsets[i]};
    record.tensors.push_back(addTensor({std::move(entry), bytes[i], {}, {}}));
  }
  largestExpert = std::max(largestExpert, placement->recordBytes);
  expertRecords.push_back(std::move(record));
  return tensorList.size() - 3;
}

void PackPlan::addSource(uint64_t sizeBytes, const Digest128 &hash) {
  sourceText += "source " + std::to_string(sizeBytes) + " " + hash.toHex() + "\n";
}

uint64_t PackPlan::residentOffset(size_t tensor) const {
  const PackRecord &record = recordList[tensorList[tensor].entry.record];
  assert(record.record.kind == MOEPACK_RECORD_RESIDENT && "only resident tensors lie in the segment");
  return record.record.offset - packHeader.resident_offset;
}

Layout PackPlan::layoutOf(size_t tensor) const {
  const TensorEntry &entry = tensorList[tensor].entry;
  assert(entry.storage == TensorStorage::Matrix && "only matrices have a layout");
  return cantFail(Layout::create(layoutFamily, entry.rows, entry.cols, entry.encoding, entry.name));
}

} // namespace moec
