// SPDX-License-Identifier: Apache-2.0
/// \file
/// Turns the collected tensors into numbered records with offsets, cuts parts and computes the plan's identity.
#include "lib/Pack/PackPlan.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "moert/Generated.h"

#include <cstring>
#include <set>

namespace moec {

using llvm::Twine;

/// For messages: "expert 3 of layer 1" or the tensor's name.
static std::string describe(const PackRecord &record, llvm::ArrayRef<PackTensor> tensors) {
  if (record.record.kind == MOEPACK_RECORD_EXPERT)
    return "expert " + std::to_string(record.record.expert) + " of layer " + std::to_string(record.record.layer);
  return "'" + tensors[record.tensors.front()].entry.name + "'";
}

llvm::Error PackPlan::placeRecords() {
  for (auto *list : {&residentRecords, &rowRecords, &expertRecords})
    recordList.insert(recordList.end(), list->begin(), list->end());
  for (size_t r = 0; r < recordList.size(); ++r)
    for (size_t tensor : recordList[r].tensors)
      tensorList[tensor].entry.record = static_cast<uint32_t>(r);
  std::vector<TensorEntry> entries;
  for (const PackTensor &tensor : tensorList)
    entries.push_back(tensor.entry);
  tableText = writeTensorTable(entries);

  moepack_header &h = packHeader;
  std::memcpy(h.magic, MOEPACK_MAGIC, sizeof(h.magic));
  h.format_version = MOEPACK_FORMAT_VERSION;
  h.abi_version = MOERT_GENERATED_ABI_VERSION;
  h.layout_family = static_cast<uint32_t>(layoutFamily);
  h.page_bytes = MOEPACK_PAGE_BYTES;
  h.directory_offset = MOEPACK_PAGE_BYTES;
  h.num_records = recordList.size();
  h.tensor_table_offset = h.directory_offset + recordList.size() * sizeof(moepack_record);
  h.tensor_table_bytes = tableText.size() + kTableChecksumBytes;
  // Room for every possible number of parts: the offsets behind do not depend on it.
  h.part_table_offset = *checkedAlignUp(h.tensor_table_offset + h.tensor_table_bytes, MOEPACK_TENSOR_ALIGN);
  h.resident_offset = *checkedAlignUp(h.part_table_offset + kMaxPackParts * sizeof(moepack_part), MOEPACK_PAGE_BYTES);
  h.resident_bytes = *checkedAlignUp(residentEnd, MOEPACK_TENSOR_ALIGN);
  std::optional<uint64_t> end = checkedAdd(h.resident_offset, h.resident_bytes);
  for (PackRecord &record : recordList) {
    if (record.record.kind == MOEPACK_RECORD_RESIDENT) {
      record.record.offset += h.resident_offset;
      continue;
    }
    end = end ? checkedAlignUp(*end, MOEPACK_PAGE_BYTES) : std::nullopt;
    if (!end)
      break;
    record.record.offset = *end;
    end = checkedAdd(*end, record.record.bytes);
  }
  if (!end)
    return fault("the pack would exceed 2^64 bytes");
  h.total_bytes = *end;
  return llvm::Error::success();
}

llvm::Error PackPlan::cutParts(uint64_t partBytes) {
  uint64_t total = packHeader.total_bytes, start = 0;
  if (partBytes == 0 || total <= partBytes)
    partBytes = UINT64_MAX;
  // Zeros up to the next record belong to the part of the record before.
  auto endOf = [&](size_t r) { return r + 1 < recordList.size() ? recordList[r + 1].record.offset : total; };
  size_t next = 0; // first record that is in no part yet
  while (next < recordList.size()) {
    // A part ends before a record. It begins at a page if it can: then expert records are aligned in their files, too.
    size_t end = next, pageEnd = next;
    for (; end < recordList.size(); ++end) {
      const moepack_record &record = recordList[end].record;
      if (end > next && record.offset % MOEPACK_PAGE_BYTES == 0)
        pageEnd = end;
      if (endOf(end) - start > partBytes)
        break;
    }
    if (end < recordList.size() && pageEnd > next)
      end = pageEnd;
    if (end == next)
      return fault("parts of " + Twine(partBytes) + " bytes are too small: " + describe(recordList[next], tensorList) +
                   " ends " + Twine(endOf(next) - start) +
                   " bytes behind the start of its part; choose a larger part size");
    if (partList.size() == kMaxPackParts)
      return fault("parts of " + Twine(partBytes) + " bytes are too small: the pack of " + Twine(total) +
                   " bytes would have more than " + Twine(kMaxPackParts) + " parts");
    for (; next < end; ++next)
      recordList[next].record.part = static_cast<uint32_t>(partList.size());
    uint64_t stop = endOf(next - 1);
    partList.push_back({start, stop - start, {}});
    start = stop;
  }
  packHeader.num_parts = static_cast<uint32_t>(partList.size());
  packHeader.part_bytes = partList.size() > 1 ? partBytes : 0;
  return llvm::Error::success();
}

void PackPlan::computeIdentity() {
  std::string text = "moepack " + std::to_string(MOEPACK_FORMAT_VERSION) + "\nabi " +
                     std::to_string(MOERT_GENERATED_ABI_VERSION) + "\ncompiler " + compilerVersion + "\nfamily " +
                     std::to_string(static_cast<uint32_t>(layoutFamily)) + "\n" + sourceText + tableText;
  for (const PackTensor &tensor : tensorList)
    if (!tensor.recipe.empty())
      text += (tensor.generate ? "generated " : "codes ") + tensor.entry.name + " " + tensor.recipe + "\n";
  // Offsets count from the resident segment: what stands before it is no part of what the weights should be.
  for (const PackRecord &record : recordList) {
    const moepack_record &r = record.record;
    text += std::to_string(r.kind) + " " + std::to_string(r.layer) + " " + std::to_string(r.expert) + " " +
            std::to_string(r.offset - packHeader.resident_offset) + " " + std::to_string(r.bytes) + " " +
            std::to_string(r.row_bytes) + "\n";
  }
  Hash128 hash;
  hash.update(text);
  identity = hash.digest();
  std::array<uint8_t, 16> bytes = identity.toBytes();
  std::memcpy(packHeader.plan_id, bytes.data(), bytes.size());
}

llvm::Error PackPlan::finish(uint64_t partBytes) {
  size_t numRecords = residentRecords.size() + rowRecords.size() + expertRecords.size();
  if (numRecords == 0 || numRecords > UINT32_MAX)
    return fault("the pack has " + Twine(numRecords) + " records, expected 1 to 2^32 - 1");
  std::set<std::pair<int32_t, int32_t>> experts;
  for (const PackRecord &record : expertRecords)
    if (record.record.layer < 0 || record.record.expert < 0 ||
        !experts.insert({record.record.layer, record.record.expert}).second)
      return fault(describe(record, tensorList) + " stands in the pack twice or has a negative number");
  if (llvm::Error error = placeRecords())
    return error;
  if (llvm::Error error = cutParts(partBytes))
    return error;
  computeIdentity();
  return llvm::Error::success();
}

} // namespace moec
