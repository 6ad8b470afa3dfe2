// SPDX-License-Identifier: Apache-2.0
/// \file
/// Set-up of the pager and its reader threads. Every load is verified by the thread that read it.
#include "runtime/base/Checked.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Status.h"
#include "runtime/pager/Pager.h"
#include "runtime/plan/Plan.h"

namespace moert {

moert_status Pager::create(Ledger &ledger, const PackFile &packFile, const Storage &storage, moert_eviction policy,
                           moert_prediction prediction, uint32_t numLayers, uint32_t expertsPerLayer, uint32_t numSlots,
                           uint64_t bytesPerSlot, const Hooks &hooks, moert_error *error) {
  pack = &packFile;
  records = storage.records;
  queue = storage.queue;
  lanes = storage.lanes;
  transfers = storage.transfers;
  slotBytes = bytesPerSlot;
  checks = hooks.checkStates;
  pieceBytes = hooks.pieceBytes ? hooks.pieceBytes : kPieceBytes;
  uint64_t bytes = 0;
  char text[kSizeTextBytes];
  if (!checkedMul(numSlots, bytesPerSlot, bytes) || !memory.create(ledger, bytes, Populate::OnFill))
    return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for %u expert slots (%s)%s", numSlots, sizeText(bytes, text),
                kWhenNoMemory);
  table.create(storage.table, numLayers * expertsPerLayer, expertsPerLayer, numSlots);
  eviction.create(policy, storage.eviction, numLayers, expertsPerLayer);
  ahead.create(storage.scores, prediction);
  numExperts = nextFill = table.numExperts();
  return MOERT_STATUS_OK;
}

moert_status Pager::readRecord(int32_t expert, uint8_t *destination, ReadMode mode, moert_error *error) const {
  const ExpertRecord &record = records[expert];
  if (moert_status status = pack->read(record.offset, destination, record.bytes, mode, error))
    return status;
  return hash64(destination, record.bytes) == record.checksum ? MOERT_STATUS_OK : damaged(expert, error);
}

moert_status Pager::damaged(int32_t expert, moert_error *error) const {
  const ExpertRecord &record = records[expert];
  char name[kPathBytes + 16];
  const PackFile::Part &part = pack->partOf(record.offset);
  int32_t layerExperts = static_cast<int32_t>(table.expertsPerLayer());
  return fail(error, MOERT_STATUS_CORRUPT,
              "expert %d of layer %d is damaged: checksum of %llu bytes at offset %llu of '%s' does not match%s",
              expert % layerExperts, expert / layerExperts, static_cast<unsigned long long>(record.bytes),
              static_cast<unsigned long long>(record.offset - part.start), pack->partName(part, name), kWhenDamaged);
}

void Pager::probeDirect(PackFile &writablePack) {
  int32_t expert = 0;
  while (static_cast<uint32_t>(expert) < table.numExperts() && !hasExpert(expert))
    ++expert;
  // Direct reads may succeed without filling the buffer (FUSE): only the checksum tells. Slot 0 is still empty.
  if (static_cast<uint32_t>(expert) < table.numExperts() && writablePack.isDirect() &&
      readRecord(expert, memory.data, ReadMode::Direct, nullptr) != MOERT_STATUS_OK)
    writablePack.closeDirect();
}

moert_status Pager::startLanes(Ledger &ledger, uint32_t laneCount, uint64_t delayNs, moert_error *error) {
  readDelayNs = delayNs;
  for (uint32_t i = 0; i < laneCount; ++i) {
    Lane &lane = lanes[i];
    lane.pager = this;
    {
      Lock lock(mutex);
      numLanes = i + 1;
      numTransfers = numLanes * kTransfersPerLane;
    }
    if (!lane.stack.create(ledger, kStackBytes, Populate::OnTouch))
      return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the stack of reader thread %u of %u (%llu bytes)%s",
                  i + 1, laneCount, static_cast<unsigned long long>(kStackBytes), kWhenNoMemory);
    if (int status = startThread(ledger, lane.thread, lane.stack, laneMain, &lane))
      return fail(error, MOERT_STATUS_NO_MEMORY, "the system refused reader thread %u of %u: %s (%d)%s", i + 1,
                  laneCount, errnoText(status), status, kWhenNoThread);
  }
  return MOERT_STATUS_OK;
}

void Pager::noteFailure(Transfer &transfer, const moert_error &error) {
  transfer.status = error.status;
  lastFailed = table[transfer.slot].expert;
  lastError = error;
}

void Pager::readPiece(Transfer &transfer, uint32_t piece) {
  int32_t slot = transfer.slot;
  uint64_t begin = transfer.pieceBegin(piece), bytes = transfer.sizeOf(piece);
  uint64_t offset = records[table[slot].expert].offset + begin, delayNs = readDelayNs / transfer.numPieces;
  uint8_t *destination = memory.data + static_cast<uint64_t>(slot) * slotBytes + begin;
  ++transfer.numReading;
  mutex.unlock();
  if (delayNs)
    sleepFor(delayNs);
  moert_error error;
  moert_status status = pack->read(offset, destination, bytes, ReadMode::Direct, &error);
  mutex.lock();
  --transfer.numReading;
  if (status == MOERT_STATUS_OK) {
    transfer.arrived |= 1ull << piece;
  } else {
    noteFailure(transfer, error);
  }
}

void Pager::hashArrived(Transfer &transfer) {
  while (transfer.canHash()) {
    int32_t expert = table[transfer.slot].expert;
    uint8_t *data = memory.data + static_cast<uint64_t>(transfer.slot) * slotBytes;
    uint32_t piece = transfer.numHashed;
    bool isLast = piece + 1 == transfer.numPieces;
    transfer.isHashing = true;
    mutex.unlock();
    moert_error error;
    moert_status status = MOERT_STATUS_OK;
    transfer.hash.update(data + transfer.pieceBegin(piece), transfer.sizeOf(piece));
    // What a read left wrong without saying so is tried once more, like one that fails.
    if (isLast && transfer.hash.finish() != records[expert].checksum)
      status = readRecord(expert, data, ReadMode::Once, &error);
    mutex.lock();
    transfer.isHashing = false;
    ++transfer.numHashed;
    if (status != MOERT_STATUS_OK)
      noteFailure(transfer, error);
  }
}

void *Pager::laneMain(void *argument) {
  Pager &pager = *static_cast<Lane *>(argument)->pager;
  pager.mutex.lock();
  while (!pager.stopping) {
    Transfer *transfer = pager.claim();
    if (!transfer) {
      pager.work.wait(pager.mutex);
      continue;
    }
    uint32_t piece = transfer->nextPiece++;
    ++transfer->numHands;
    if (pager.table[transfer->slot].isAhead && !transfer->isFill) {
      transfer->aheadBytes += transfer->sizeOf(piece);
      pager.counters.bytesAhead.fetchAdd(transfer->sizeOf(piece));
    }
    if (pager.hasMore(*transfer))
      pager.work.wakeOne();
    pager.readPiece(*transfer, piece);
    pager.hashArrived(*transfer);
    if (!--transfer->numHands)
      pager.settle(*transfer);
  }
  pager.mutex.unlock();
  return nullptr;
}

moert_status Pager::loadAll(moert_error *error) {
  Lock lock(mutex);
  for (uint32_t e = 0; e < table.numExperts(); ++e) {
    if (!hasExpert(static_cast<int32_t>(e)))
      continue;
    if (!table.numEmpty())
      return fail(error, MOERT_STATUS_INTERNAL, "no page slot for expert %u while all should fit", e);
    enqueue(table.startLoad(static_cast<int32_t>(e), 1));
  }
  wakeLanes();
  moert_status status = MOERT_STATUS_OK;
  for (uint32_t s = 0; s < table.numSlots(); ++s) {
    int32_t slot = static_cast<int32_t>(s);
    while (table[slot].state == SlotState::Loading)
      loaded.wait(mutex);
    if (table[slot].state == SlotState::Failed)
      status = failure(slot, error);
    if (table[slot].pins)
      unpin(slot);
  }
  return status;
}

void Pager::loadAllLater() {
  Lock lock(mutex);
  nextFill = 0;
  work.wakeOne();
}

void Pager::stop(Ledger &ledger) {
  {
    Lock lock(mutex);
    stopping = true;
    work.wakeAll();
  }
  for (uint32_t i = 0; i < numLanes; ++i) {
    joinThread(lanes[i].thread);
    lanes[i].stack.destroy(ledger);
  }
  numLanes = 0;
  memory.destroy(ledger);
}

} // namespace moert
