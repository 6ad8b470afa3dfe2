// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks of a pack's structure. After them every offset, size and number of the reader can be trusted.
#include "lib/Pack/PackPlan.h"
#include "lib/Pack/PackReader.h"
#include "lib/Pack/RowFormat.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "moert/Generated.h"

#include <cstring>

namespace moec {

using llvm::Twine;

llvm::Error PackReader::damaged(const Twine &text) const { return fault("'" + path() + "' has a damaged " + text); }

/// Whether [offset, offset + bytes) lies in [0, limit).
static bool fits(uint64_t offset, uint64_t bytes, uint64_t limit) { return offset <= limit && bytes <= limit - offset; }

llvm::Error PackReader::checkHeader() const {
  const moepack_header &h = packHeader;
  if (h.format_version != MOEPACK_FORMAT_VERSION || h.abi_version != MOERT_GENERATED_ABI_VERSION)
    return fault("'" + path() + "' has format version " + Twine(h.format_version) + " and abi version " +
                 Twine(h.abi_version) + ", expected " + Twine(MOEPACK_FORMAT_VERSION) + " and " +
                 Twine(MOERT_GENERATED_ABI_VERSION) + "; compile the model again");
  uint64_t checksum =
      hash64(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&h), offsetof(moepack_header, header_checksum)));
  if (checksum != h.header_checksum)
    return damaged("header: its checksum is " + toHex(checksum) + ", expected " + toHex(h.header_checksum));
  if (h.layout_family != MOEPACK_FAMILY_ARM64 && h.layout_family != MOEPACK_FAMILY_X86)
    return damaged("header: layout family " + Twine(h.layout_family) + ", expected " + Twine(MOEPACK_FAMILY_ARM64) +
                   " or " + Twine(MOEPACK_FAMILY_X86));
  std::optional<uint64_t> directoryBytes = checkedMul(h.num_records, sizeof(moepack_record));
  bool isSound = h.page_bytes == MOEPACK_PAGE_BYTES && h.directory_offset == MOEPACK_PAGE_BYTES && h.num_records >= 1 &&
                 h.num_records <= UINT32_MAX && h.num_parts >= 1 && h.num_parts <= kMaxPackParts && directoryBytes &&
                 fits(h.directory_offset, *directoryBytes, h.tensor_table_offset) &&
                 fits(h.tensor_table_offset, h.tensor_table_bytes, h.part_table_offset) &&
                 fits(h.part_table_offset, h.num_parts * sizeof(moepack_part), h.resident_offset) &&
                 fits(h.resident_offset, h.resident_bytes, h.total_bytes) &&
                 h.tensor_table_bytes >= kTableChecksumBytes && h.resident_offset % MOEPACK_PAGE_BYTES == 0;
  if (!isSound)
    return damaged("header: its offsets do not follow each other in " + Twine(h.total_bytes) + " bytes");
  // With one part the whole size is known here; with more, the table that lies in the first part has it.
  uint64_t found = files.front().sizeBytes(), needed = h.num_parts == 1 ? h.total_bytes : h.resident_offset;
  if (found < needed)
    return fault("'" + path() + "' is truncated: found " + Twine(found) + " bytes, needed " +
                 (h.num_parts == 1 ? "" : "at least ") + Twine(needed));
  return llvm::Error::success();
}

llvm::Error PackReader::checkParts() const {
  uint64_t start = 0;
  for (size_t i = 0; i < partList.size(); ++i) {
    const moepack_part &part = partList[i];
    bool isSound = part.start == start && fits(start, part.bytes, packHeader.total_bytes) &&
                   (i > 0 || part.bytes > packHeader.resident_offset) && part.bytes > 0;
    if (!isSound)
      return damaged("part table: part " + Twine(i) + " covers " + Twine(part.bytes) + " bytes from offset " +
                     Twine(part.start) + ", expected it to begin at " + Twine(start) + " and to end within " +
                     Twine(packHeader.total_bytes));
    start += part.bytes;
  }
  if (start != packHeader.total_bytes)
    return damaged("part table: parts cover " + Twine(start) + " bytes, the header says " +
                   Twine(packHeader.total_bytes));
  return llvm::Error::success();
}

llvm::Error PackReader::checkRecord(size_t index) const {
  const moepack_record &r = recordList[index];
  const moepack_header &h = packHeader;
  auto wrong = [&](const Twine &text) {
    return damaged("directory: record " + Twine(index) + " (kind " + Twine(r.kind) + ", layer " + Twine(r.layer) +
                   ", expert " + Twine(r.expert) + ", offset " + Twine(r.offset) + ", " + Twine(r.bytes) + " bytes) " +
                   text);
  };
  if (r.kind != MOEPACK_RECORD_RESIDENT && r.kind != MOEPACK_RECORD_EXPERT && r.kind != MOEPACK_RECORD_ROWS)
    return wrong("has an unknown kind, expected 1 to 3");
  if (r.bytes == 0 || !fits(r.offset, r.bytes, h.total_bytes) || r.offset < h.resident_offset)
    return wrong("lies out of bounds: records are in bytes " + Twine(h.resident_offset) + " to " +
                 Twine(h.total_bytes));
  if (r.part >= partList.size() || r.offset < partList[r.part].start ||
      !fits(r.offset - partList[r.part].start, r.bytes, partList[r.part].bytes))
    return wrong("does not lie in part " + Twine(r.part));
  if (index > 0 && r.offset < recordList[index - 1].offset + recordList[index - 1].bytes)
    return wrong("overlaps the record before it, which ends at " +
                 Twine(recordList[index - 1].offset + recordList[index - 1].bytes));
  bool isResident = r.kind == MOEPACK_RECORD_RESIDENT;
  if (isResident != (r.offset < h.resident_offset + h.resident_bytes) ||
      (isResident && !fits(r.offset - h.resident_offset, r.bytes, h.resident_bytes)))
    return wrong("lies on the wrong side of the resident segment's end, " +
                 Twine(h.resident_offset + h.resident_bytes));
  uint64_t align = isResident ? MOEPACK_TENSOR_ALIGN : MOEPACK_PAGE_BYTES;
  if (r.offset % align || (r.kind == MOEPACK_RECORD_EXPERT && r.bytes % align))
    return wrong("is not aligned to " + Twine(align) + " bytes");
  if (r.kind == MOEPACK_RECORD_ROWS ? r.row_bytes == 0 || r.row_bytes > UINT32_MAX || r.row_bytes % 4 ||
                                          r.bytes % (r.row_bytes + kRowChecksumBytes)
                                    : r.row_bytes != 0)
    return wrong("has rows of " + Twine(r.row_bytes) + " bytes");
  return llvm::Error::success();
}

llvm::Error PackReader::checkRecords() const {
  for (size_t i = 0; i < recordList.size(); ++i)
    if (llvm::Error error = checkRecord(i))
      return error;
  return llvm::Error::success();
}

/// Bytes that a tensor takes, or nothing if it cannot be stored so.
static std::optional<uint64_t> bytesOfTensor(const TensorEntry &entry, LayoutFamily family) {
  llvm::Expected<Layout> layout = Layout::create(family, entry.rows, entry.cols, entry.encoding, entry.name);
  if (!layout) {
    llvm::consumeError(layout.takeError());
    return std::nullopt;
  }
  if (entry.storage == TensorStorage::Matrix)
    return layout->totalBytes();
  if (entry.storage == TensorStorage::Raw)
    return entry.encoding == Encoding::f32() ? std::optional(uint64_t(entry.rows) * entry.cols * 4) : std::nullopt;
  return checkedMul(entry.rows, rowPayloadBytes(entry.cols, entry.encoding) + kRowChecksumBytes);
}

llvm::Error PackReader::checkTensors() {
  tensorsOf.resize(recordList.size());
  for (size_t i = 0; i < tensorList.size(); ++i) {
    const TensorEntry &entry = tensorList[i];
    std::optional<uint64_t> bytes = bytesOfTensor(entry, family());
    bool isSound = bytes && entry.record < recordList.size() &&
                   fits(entry.offset, *bytes, recordList[entry.record].bytes) &&
                   (entry.storage == TensorStorage::Rows) == (recordList[entry.record].kind == MOEPACK_RECORD_ROWS);
    if (isSound && entry.storage == TensorStorage::Rows)
      isSound = recordList[entry.record].row_bytes == rowPayloadBytes(entry.cols, entry.encoding) &&
                recordList[entry.record].bytes == *bytes;
    if (!isSound)
      return damaged("tensor table: '" + entry.name + "' (" + nameOf(entry.encoding) + ", " + Twine(entry.rows) +
                     " x " + Twine(entry.cols) + ") does not lie at offset " + Twine(entry.offset) + " of record " +
                     Twine(entry.record));
    tensorsOf[entry.record].push_back(i);
  }
  return llvm::Error::success();
}

} // namespace moec
