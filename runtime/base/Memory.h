// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ledger: the only way to memory. Every byte is accounted before it is taken, so that the budget cannot be passed.
#ifndef RUNTIME_BASE_MEMORY_H
#define RUNTIME_BASE_MEMORY_H

#include "runtime/base/Atomic.h"
#include "runtime/base/Hooks.h"
#include "runtime/base/Platform.h"

namespace moert {

/// Accounts bytes against a limit. Thread-safe. Invariants: (1) used <= limit; (2) used <= peak.
class Ledger {
public:
  void initialize(uint64_t limitBytes) { limit.store(limitBytes); }
  /// False, and nothing is accounted, if the limit would be passed.
  bool take(uint64_t sizeBytes);
  void give(uint64_t sizeBytes) { used.fetchSub(sizeBytes); }
  uint64_t usedBytes() const { return used.load(); }
  uint64_t peakBytes() const { return peak.load(); }
  /// Regions that are created from now on lock what they commit (stacks excepted, which are resident as far as used).
  void lockRegions() { locksRegions = true; }
  bool isLocking() const { return locksRegions; }
  /// Bytes that regions wanted to lock, and those that they hold locked.
  Atomic<uint64_t> wantedLock, locked;
  uint64_t limitBytes() const { return limit.load(); }
  /// Tests only: the `countdown`-th request from now fails (1 = the next one); 0 = none.
  void failAfter(uint64_t countdown) { failCountdown.store(countdown); }
  /// Requests so far.
  uint64_t numRequests() const { return requests.load(); }
  /// Tests only: `failRequest`, `allows` and `closed` of the hooks.
  void obey(const Hooks &hooks);
  bool allows(SystemRequest request) const { return !allowsRequest || allowsRequest(hooksUser, request); }
  /// The last user of this ledger is gone.
  void close() const;

private:
  bool (*allowsRequest)(void *user, SystemRequest request);
  void (*onClosed)(void *user, uint64_t ledgerBytes);
  void *hooksUser;
  Atomic<uint64_t> limit, used, peak, failCountdown, requests;
  bool locksRegions;
};

/// What a region is for.
enum class Populate : uint32_t {
  Now,     /// resident from the start
  OnFill,  /// accounted in full, resident in huge pages where first written (resident from the start if to be locked)
  OnTouch, /// accounted in full, resident page by page (stacks)
  OnCommit /// address space; accounted and resident as far as `commit` went
};

/// A page-aligned range between two guard ranges, owned by its holder; one that can hold a huge page begins where one
/// may. Zero-filled memory is an empty region.
struct Region {
  uint8_t *data;
  uint64_t sizeBytes;      /// a multiple of kPageBytes
  uint64_t committedBytes; /// accounted in the ledger
  uint64_t lockedBytes;    /// of those, what the system agreed to lock
  bool locks;              /// whether it is to be locked

  /// False if the ledger or the system refuses; the region is then empty.
  bool create(Ledger &ledger, uint64_t bytes, Populate populate);
  /// Populate::OnCommit: makes [0, bytes) usable. False if refused; what was committed stays.
  bool commit(Ledger &ledger, uint64_t bytes);
  /// Populate::OnCommit: gives everything back, keeps the address space. False if the system refuses.
  bool decommitAll(Ledger &ledger);
  void destroy(Ledger &ledger);

private:
  void lockMore(Ledger &ledger, uint64_t begin, uint64_t bytes);
  void unlockAll(Ledger &ledger);
};

/// Memory that is about to be filled for the first time. Clearing a huge page takes up to a quarter of the time of
/// reading one, and a read that has to do it first leaves the storage idle meanwhile: so whoever has nothing better to
/// do runs ahead. Others may fill it at the same time.
struct FreshRange {
  const uint8_t *next;
  uint64_t left;

  /// Makes one more huge page resident; the last one if the system cannot do that.
  void prepareMore();
};

/// Starts a thread on a stack that was created with Populate::OnTouch. 0 or an errno value.
int startThread(const Ledger &ledger, Thread &thread, const Region &stack, ThreadMain main, void *argument);

/// Takes aligned pieces from a block, front to back. With `base` null it only measures.
struct Carver {
  uint8_t *base;
  uint64_t offset;

  template <typename T> T *take(uint64_t count) {
    constexpr uint64_t kAlign = alignof(T) > 64 ? alignof(T) : 64;
    offset = (offset + kAlign - 1) & ~(kAlign - 1);
    uint64_t at = offset;
    uint64_t bytes = 0;
    // Saturation makes the total larger than any budget.
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(sizeof(T)), &bytes) || bytes > kLimit - offset)
      bytes = kLimit - offset;
    offset += bytes;
    return base ? reinterpret_cast<T *>(base + at) : nullptr;
  }
  static constexpr uint64_t kLimit = 1ull << 56;
};

} // namespace moert
#endif
