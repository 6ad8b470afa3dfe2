// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads a long range of the pack by several threads, front to back, so that the storage is never idle while its owner
/// looks at what has arrived.
#ifndef RUNTIME_PACK_SEGMENTREADER_H
#define RUNTIME_PACK_SEGMENTREADER_H

#include "runtime/base/Memory.h"
#include "runtime/base/Sync.h"
#include "runtime/pack/PackFile.h"

namespace moert {

/// Zero-filled memory is a valid object that reads nothing. States: idle -> reading (start) -> idle (stop). Invariant:
/// everything before the first piece that some thread has in hand is read.
class SegmentReader {
public:
  /// Storage is at its best with two reads under way (docs/architecture.md).
  static constexpr uint32_t kNumThreads = 2;
  static constexpr uint64_t kPieceBytes = 4ull << 20;

  /// Begins to read [offset, offset + sizeBytes) of the pack to `destination`. After a failure `stop` is still due.
  moert_status start(Ledger &ledger, const PackFile &pack, uint64_t offset, uint64_t sizeBytes, uint8_t *destination,
                     ReadMode mode, moert_error *error);
  /// Waits until the first `sizeBytes` are there, and prepares memory instead of sleeping: the destination, then what
  /// will be filled after it.
  moert_status waitFor(uint64_t sizeBytes, FreshRange &after, moert_error *error);
  /// Ends the threads; what they have in hand is read to its end.
  void stop(Ledger &ledger);

private:
  struct Reader {
    SegmentReader *segment;
    Thread thread;
    Region stack;
    uint64_t current; /// begin of the piece in hand; the range's size = none
  };
  static void *readerMain(void *argument);
  uint64_t readBytes() const;

  const PackFile *pack;
  uint64_t offset, sizeBytes, next;
  uint8_t *destination;
  FreshRange fresh; /// the destination ahead of the readers; its owner's
  ReadMode mode;
  Mutex mutex;
  Condition advanced;
  Reader readers[kNumThreads];
  uint32_t numReaders;
  moert_error failure; /// status OK = none
};

} // namespace moert
#endif
