// SPDX-License-Identifier: Apache-2.0
/// \file
/// A record on its way into a page slot. Reader threads claim its pieces in order, so that the first of several records
/// is there first; they hash pieces in order, too, one thread at a time, while others read on. No lock: the pager's
/// mutex guards everything but the hash, which belongs to the thread that set `isHashing`.
#ifndef RUNTIME_PAGER_TRANSFER_H
#define RUNTIME_PAGER_TRANSFER_H

#include "moert/moert.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Hash.h"

namespace moert {

/// The largest piece of a record: even one read alone comes near the best rate of the storage (measured on a virtio
/// disk of 3.6 GB/s, one and three reads at a time: 432 KiB 0.73 and 0.85, 864 KiB 0.83 and 0.94, 1.3 MiB 0.90 and
/// 0.97, 2.5 MiB 0.95 and 1), and so much at most of what is read ahead stands before the first demanded piece in each
/// thread.
inline constexpr uint64_t kPieceBytes = 1536 * 1024;

/// Zero-filled memory is a transfer that is not in use.
struct Transfer {
  static constexpr uint64_t kMostPieces = 64;

  Hash64 hash;
  int32_t slot;
  bool isUsed, isHashing;
  bool isFill;         /// for lack of anything better: not a guess
  bool isCancelled;    /// nobody needs it any more, unless somebody waits for it by now
  moert_status status; /// of the latest failure; nothing is claimed behind one
  uint32_t numPieces, nextPiece, numHashed;
  uint32_t numHands;   /// threads that read or hash a piece of it
  uint32_t numReading; /// of those, the ones that read
  uint64_t pieceBytes, recordBytes;
  uint64_t aheadBytes; /// claimed before anybody needed it
  uint64_t arrived;    /// bit i: piece i was read
  uint64_t sequence;   /// of its start

  void start(int32_t inSlot, uint64_t bytes, uint64_t wantedPieceBytes, uint64_t number, bool fills = false) {
    // Pieces of one size, so that the last one is not a small read.
    uint64_t count = minOf((bytes + wantedPieceBytes - 1) / wantedPieceBytes, kMostPieces);
    slot = inSlot;
    isUsed = true;
    isHashing = isCancelled = false;
    isFill = fills;
    status = MOERT_STATUS_OK;
    recordBytes = bytes;
    pieceBytes = roundUp((bytes + count - 1) / count, kDirectPieceUnit);
    numPieces = static_cast<uint32_t>((bytes + pieceBytes - 1) / pieceBytes);
    nextPiece = numHashed = numHands = numReading = 0;
    arrived = aheadBytes = 0;
    sequence = number;
    hash.begin();
  }
  uint64_t pieceBegin(uint32_t piece) const { return piece * pieceBytes; }
  uint64_t sizeOf(uint32_t piece) const { return minOf(pieceBytes, recordBytes - pieceBegin(piece)); }
  bool hasUnclaimed() const { return isUsed && status == MOERT_STATUS_OK && nextPiece < numPieces; }
  bool canHash() const {
    return status == MOERT_STATUS_OK && !isHashing && numHashed < numPieces && (arrived >> numHashed & 1);
  }
  bool isWhole() const { return status == MOERT_STATUS_OK && numHashed == numPieces; }

private:
  static constexpr uint64_t kDirectPieceUnit = 4096;
};

} // namespace moert
#endif
