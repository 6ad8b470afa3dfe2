// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ledger and page ranges.
#include "runtime/base/Memory.h"

#include "runtime/base/Checked.h"

namespace moert {

bool Ledger::take(uint64_t sizeBytes) {
  requests.fetchAdd(1);
  uint64_t countdown = failCountdown.load();
  if (countdown) {
    failCountdown.store(countdown - 1);
    if (countdown == 1)
      return false;
  }
  uint64_t now = used.load();
  uint64_t after = 0;
  do {
    if (!checkedAdd(now, sizeBytes, after) || after > limit.load())
      return false;
  } while (!used.compareExchange(now, after));
  uint64_t most = peak.load();
  while (after > most && !peak.compareExchange(most, after)) {
  }
  return true;
}

void Ledger::obey(const Hooks &hooks) {
  failAfter(hooks.failRequest);
  allowsRequest = hooks.allows;
  onClosed = hooks.closed;
  hooksUser = hooks.user;
}

void Ledger::close() const {
  if (onClosed)
    onClosed(hooksUser, usedBytes());
}

static void *reserve(const Ledger &ledger, uint64_t headBytes, uint64_t sizeBytes) {
  return ledger.allows(SystemRequest::Reserve) ? reserveRange(headBytes, sizeBytes) : nullptr;
}

static bool commitMore(const Ledger &ledger, void *address, uint64_t sizeBytes) {
  return ledger.allows(SystemRequest::Commit) && commitRange(address, sizeBytes);
}

static void release(const Ledger &ledger, void *address, uint64_t sizeBytes) {
  ledger.allows(SystemRequest::Release);
  releaseRange(address, sizeBytes);
}

void Region::lockMore(Ledger &ledger, uint64_t begin, uint64_t bytes) {
  if (!locks || !bytes)
    return;
  ledger.wantedLock.fetchAdd(bytes);
  if (!ledger.allows(SystemRequest::Lock) || !lockRange(data + begin, bytes))
    return;
  ledger.locked.fetchAdd(bytes);
  lockedBytes += bytes;
}

void Region::unlockAll(Ledger &ledger) {
  if (!locks)
    return;
  if (lockedBytes)
    unlockRange(data, committedBytes);
  ledger.wantedLock.fetchSub(committedBytes);
  ledger.locked.fetchSub(lockedBytes);
  lockedBytes = 0;
}

bool Region::create(Ledger &ledger, uint64_t bytes, Populate populate) {
  *this = {};
  if (bytes == 0)
    return true;
  uint64_t rounded = roundUp(bytes, kPageBytes);
  bool now = populate != Populate::OnCommit;
  if (rounded > Carver::kLimit || (now && !ledger.take(rounded)))
    return false;
  // The guards keep neighbouring mappings from being merged with ours (a huge page would then cover both), and turn an
  // overrun into a fault. They take address space only.
  auto *range = static_cast<uint8_t *>(reserve(ledger, kPageBytes, rounded + 2 * kPageBytes));
  if (range && now && !commitMore(ledger, range + kPageBytes, rounded)) {
    release(ledger, range, rounded + 2 * kPageBytes);
    range = nullptr;
  }
  if (!range) {
    if (now)
      ledger.give(rounded);
    return false;
  }
  data = range + kPageBytes;
  sizeBytes = rounded;
  committedBytes = now ? rounded : 0;
  // A huge page takes the place of small ones only where the whole of it may be written: what is not committed yet, or
  // lies behind the end, is never rounded up. Stacks may be written from the start and stay small.
  if (populate == Populate::OnTouch)
    forbidHugePages(data, rounded);
  else
    preferHugePages(data, rounded);
  // Locking makes resident, too, but one small page after the other.
  if (populate == Populate::Now || (populate == Populate::OnFill && ledger.isLocking()))
    populateRange(data, rounded);
  locks = ledger.isLocking() && populate != Populate::OnTouch;
  lockMore(ledger, 0, committedBytes);
  return true;
}

bool Region::commit(Ledger &ledger, uint64_t bytes) {
  uint64_t wanted = minOf(roundUp(bytes, kPageBytes), sizeBytes);
  if (wanted <= committedBytes)
    return bytes <= sizeBytes;
  uint64_t more = wanted - committedBytes;
  if (!ledger.take(more))
    return false;
  if (!commitMore(ledger, data + committedBytes, more)) {
    ledger.give(more);
    return false;
  }
  populateRange(data + committedBytes, more);
  lockMore(ledger, committedBytes, more);
  committedBytes = wanted;
  return bytes <= sizeBytes;
}

bool Region::decommitAll(Ledger &ledger) {
  unlockAll(ledger); // the kernel does not take locked pages back
  if (committedBytes && (!ledger.allows(SystemRequest::Decommit) || !decommitRange(data, committedBytes))) {
    lockMore(ledger, 0, committedBytes);
    return false;
  }
  ledger.give(committedBytes);
  committedBytes = 0;
  return true;
}

void Region::destroy(Ledger &ledger) {
  unlockAll(ledger);
  if (data)
    release(ledger, data - kPageBytes, sizeBytes + 2 * kPageBytes);
  ledger.give(committedBytes);
  *this = {};
}

void FreshRange::prepareMore() {
  uint64_t bytes = minOf(left, kHugePageBytes);
  left = prepareRange(next, bytes) ? left - bytes : 0;
  next += bytes;
}

int startThread(const Ledger &ledger, Thread &thread, const Region &stack, ThreadMain main, void *argument) {
  if (!ledger.allows(SystemRequest::Thread))
    return kErrnoAgain;
  return startThread(thread, stack.data, stack.sizeBytes, main, argument);
}

} // namespace moert
