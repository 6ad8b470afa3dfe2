// SPDX-License-Identifier: Apache-2.0
/// \file
/// What open reads from the pack: the directory, which is hashed and checked record by record, and the resident
/// weights.
#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Status.h"
#include "runtime/pack/SegmentReader.h"

#include <string.h>

namespace moert {

static unsigned long long print(uint64_t value) { return static_cast<unsigned long long>(value); }

static moert_status damaged(const moert_model &model, uint64_t index, const moepack_record &record, const char *problem,
                            moert_error *error) {
  char name[kPathBytes + 16];
  return fail(error, MOERT_STATUS_CORRUPT,
              "directory of '%s' is damaged: record %llu (kind %u, layer %d, expert %d, offset %llu, %llu bytes) %s%s",
              model.pack.partName(model.pack.partOf(0), name), print(index), record.kind, record.layer, record.expert,
              print(record.offset), print(record.bytes), problem, kWhenDamaged);
}

static bool liesInPart(const PackFile &pack, const moepack_record &record) {
  uint64_t end = 0;
  if (!checkedAdd(record.offset, record.bytes, end) || end > pack.header.total_bytes)
    return false;
  const PackFile::Part &part = pack.partOf(record.offset);
  return record.offset >= part.start && end <= part.start + part.bytes;
}

static moert_status addRecord(moert_model &model, uint64_t index, const moepack_record &record, uint64_t &numExperts,
                              moert_error *error) {
  const moert_model_descriptor &d = *model.descriptor;
  const moepack_header &header = model.pack.header;
  if (!liesInPart(model.pack, record))
    return damaged(model, index, record, "does not lie in one part", error);
  switch (record.kind) {
  case MOEPACK_RECORD_RESIDENT:
    if (record.offset < header.resident_offset || record.bytes > header.resident_bytes ||
        record.offset - header.resident_offset > header.resident_bytes - record.bytes)
      return damaged(model, index, record, "lies outside of the resident segment", error);
    return MOERT_STATUS_OK;
  case MOEPACK_RECORD_EXPERT: {
    if (!d.plan.num_expert_records || record.layer < 0 || static_cast<uint32_t>(record.layer) >= d.num_layers ||
        record.expert < 0 || static_cast<uint32_t>(record.expert) >= d.num_experts)
      return damaged(model, index, record, "names a layer or expert that the model does not have", error);
    if (record.offset % MOEPACK_PAGE_BYTES || record.bytes % MOEPACK_PAGE_BYTES || !record.bytes ||
        record.bytes > d.plan.record_bytes)
      return damaged(model, index, record, "is not aligned to 16384 bytes or is larger than a page slot", error);
    ExpertRecord &entry =
        model.storage.pager.records[static_cast<uint64_t>(record.layer) * d.num_experts + record.expert];
    if (entry.bytes)
      return damaged(model, index, record, "stands there twice", error);
    entry = {record.offset, record.bytes, record.checksum};
    ++numExperts;
    return MOERT_STATUS_OK;
  }
  case MOEPACK_RECORD_ROWS:
    for (uint32_t t = 0; t < d.num_streamed_tables; ++t) {
      const moert_streamed_table &table = d.streamed_tables[t];
      if (table.record != index)
        continue;
      uint64_t bytes = 0;
      if (record.row_bytes != table.row_bytes || !checkedMul(table.num_rows, table.row_bytes + 8ull, bytes) ||
          bytes != record.bytes)
        return damaged(model, index, record, "has other rows than the model's table", error);
      model.storage.tableOffsets[t] = record.offset;
    }
    return MOERT_STATUS_OK;
  default:
    return damaged(model, index, record, "has an unknown kind", error);
  }
}

/// Calls `visit(index, record)` for each record, in order; stops at the first failure. Hashes what it reads: a bit that
/// was right a moment ago may be wrong now.
template <typename Visit> static moert_status visitDirectory(moert_model &model, moert_error *error, Visit visit) {
  constexpr uint64_t kRecordsPerPiece = kDirectoryPieceBytes / sizeof(moepack_record);
  const moepack_header &header = model.pack.header;
  uint8_t *piece = model.storage.directoryPiece;
  Hash128 hash;
  hash.begin();
  for (uint64_t first = 0; first < header.num_records; first += kRecordsPerPiece) {
    uint64_t count = minOf(kRecordsPerPiece, header.num_records - first);
    uint64_t bytes = count * sizeof(moepack_record);
    if (moert_status status = model.pack.read(header.directory_offset + first * sizeof(moepack_record), piece, bytes,
                                              ReadMode::Cached, error))
      return status;
    hash.update(piece, bytes);
    for (uint64_t i = 0; i < count; ++i) {
      moepack_record record;
      memcpy(&record, piece + i * sizeof(record), sizeof(record));
      if (moert_status status = visit(first + i, record))
        return status;
    }
  }
  return model.pack.compareDirectory(hash, error);
}

moert_status loadDirectory(moert_model &model, moert_error *error) {
  const moert_model_descriptor &d = *model.descriptor;
  char name[kPathBytes + 16];
  model.pack.partName(model.pack.partOf(0), name);
  // First the hash alone: what a damaged directory says is not worth reporting.
  if (moert_status status = model.pack.checkDirectory(model.storage.directoryPiece, kDirectoryPieceBytes, error))
    return status;
  uint64_t numExperts = 0;
  auto add = [&](uint64_t index, const moepack_record &record) {
    return addRecord(model, index, record, numExperts, error);
  };
  if (moert_status status = visitDirectory(model, error, add))
    return status;
  if (numExperts != d.plan.num_expert_records)
    return fail(error, MOERT_STATUS_MISMATCH, "'%s' has %llu expert records, '%s' expects %llu", name,
                print(numExperts), d.model_name, print(d.plan.num_expert_records));
  for (uint32_t t = 0; t < d.num_streamed_tables; ++t)
    if (!model.storage.tableOffsets[t])
      return fail(error, MOERT_STATUS_MISMATCH, "'%s' has no row table at record %u, which '%s' reads", name,
                  d.streamed_tables[t].record, d.model_name);
  return MOERT_STATUS_OK;
}

/// The slots that the first token will fill, whichever it is.
static FreshRange firstSlots(const moert_model &model) {
  const moert_model_descriptor &d = *model.descriptor;
  if (!d.plan.num_expert_records)
    return {};
  uint64_t numLayers = d.plan.num_expert_records / d.num_experts; // with experts
  uint64_t count = minOf(model.plan.info.num_slots, numLayers * model.settings.expertsUsed);
  return {model.pager.slotData(0), count * d.plan.record_bytes};
}

/// Reads the resident segment and checks each tensor while the rest is being read.
static moert_status readResident(moert_model &model, ReadMode mode, moert_error *error) {
  const moepack_header &header = model.pack.header;
  char name[kPathBytes + 16];
  SegmentReader reader = {};
  FreshRange slots = firstSlots(model);
  moert_status status = reader.start(model.ledger, model.pack, header.resident_offset, header.resident_bytes,
                                     model.resident.data, mode, error);
  if (status == MOERT_STATUS_OK)
    status = visitDirectory(model, error, [&](uint64_t index, const moepack_record &record) {
      if (record.kind != MOEPACK_RECORD_RESIDENT)
        return MOERT_STATUS_OK;
      uint64_t begin = record.offset - header.resident_offset;
      if (moert_status unread = reader.waitFor(begin + record.bytes, slots, error))
        return unread;
      if (hash64(model.resident.data + begin, record.bytes) == record.checksum)
        return MOERT_STATUS_OK;
      const PackFile::Part &part = model.pack.partOf(record.offset);
      return fail(error, MOERT_STATUS_CORRUPT,
                  "resident tensor at record %llu (layer %d) is damaged: checksum of %llu bytes at offset %llu of '%s' "
                  "does not match%s",
                  print(index), record.layer, print(record.bytes), print(record.offset - part.start),
                  model.pack.partName(part, name), kWhenDamaged);
    });
  reader.stop(model.ledger);
  return status;
}

moert_status loadResident(moert_model &model, moert_error *error) {
  uint64_t bytes = model.pack.header.resident_bytes;
  char text[kSizeTextBytes];
  if (!model.resident.create(model.ledger, bytes, Populate::OnFill))
    return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the resident weights (%s)%s", sizeText(bytes, text),
                kWhenNoMemory);
  bool direct = model.pack.isDirect();
  moert_status status = readResident(model, direct ? ReadMode::Direct : ReadMode::Once, error);
  if (status != MOERT_STATUS_CORRUPT || !direct)
    return status;
  // Direct reads may succeed without filling the buffer (FUSE): only checksums tell.
  model.pack.closeDirect();
  return readResident(model, ReadMode::Once, error);
}

} // namespace moert
