// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads that take pieces in order.
#include "runtime/pack/SegmentReader.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace moert {

moert_status SegmentReader::start(Ledger &ledger, const PackFile &file, uint64_t begin, uint64_t bytes, uint8_t *out,
                                  ReadMode readMode, moert_error *error) {
  pack = &file;
  offset = begin;
  sizeBytes = bytes;
  destination = out;
  fresh = {out, bytes};
  mode = readMode;
  next = 0;
  failure.status = MOERT_STATUS_OK;
  for (Reader &reader : readers) {
    reader.segment = this;
    {
      Lock lock(mutex);
      reader.current = sizeBytes;
      ++numReaders;
    }
    if (!reader.stack.create(ledger, kStackBytes, Populate::OnTouch))
      return fail(error, MOERT_STATUS_NO_MEMORY,
                  "no memory for the stack of a thread that loads weights (%llu bytes)%s",
                  static_cast<unsigned long long>(kStackBytes), kWhenNoMemory);
    if (int status = startThread(ledger, reader.thread, reader.stack, readerMain, &reader))
      return fail(error, MOERT_STATUS_NO_MEMORY, "the system refused a thread that loads weights: %s (%d)%s",
                  errnoText(status), status, kWhenNoThread);
  }
  return MOERT_STATUS_OK;
}

void *SegmentReader::readerMain(void *argument) {
  Reader &reader = *static_cast<Reader *>(argument);
  SegmentReader &segment = *reader.segment;
  segment.mutex.lock();
  while (segment.next < segment.sizeBytes && segment.failure.status == MOERT_STATUS_OK) {
    uint64_t begin = segment.next;
    uint64_t bytes = minOf(kPieceBytes, segment.sizeBytes - begin);
    segment.next = begin + bytes;
    reader.current = begin;
    segment.mutex.unlock();
    moert_error error;
    moert_status status =
        segment.pack->read(segment.offset + begin, segment.destination + begin, bytes, segment.mode, &error);
    segment.mutex.lock();
    if (status != MOERT_STATUS_OK)
      segment.failure = error;
    else
      reader.current = segment.sizeBytes;
    segment.advanced.wakeAll();
  }
  segment.mutex.unlock();
  return nullptr;
}

uint64_t SegmentReader::readBytes() const {
  uint64_t bytes = next;
  for (uint32_t i = 0; i < numReaders; ++i)
    bytes = minOf(bytes, readers[i].current);
  return bytes;
}

moert_status SegmentReader::waitFor(uint64_t bytes, FreshRange &after, moert_error *error) {
  Lock lock(mutex);
  while (readBytes() < bytes && failure.status == MOERT_STATUS_OK) {
    FreshRange &range = fresh.left ? fresh : after;
    if (!range.left) {
      advanced.wait(mutex);
      continue;
    }
    mutex.unlock();
    range.prepareMore();
    mutex.lock();
  }
  if (error && failure.status != MOERT_STATUS_OK)
    *error = failure;
  return failure.status;
}

void SegmentReader::stop(Ledger &ledger) {
  {
    Lock lock(mutex);
    next = sizeBytes;
  }
  for (uint32_t i = 0; i < numReaders; ++i) {
    joinThread(readers[i].thread);
    readers[i].stack.destroy(ledger);
  }
  numReaders = 0;
}

} // namespace moert
