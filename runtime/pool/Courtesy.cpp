// SPDX-License-Identifier: Apache-2.0
/// \file
/// When to offer the core, and which one to avoid.
#include "runtime/pool/Courtesy.h"

namespace moert {

void Courtesy::begin(bool slept) {
  lastNs = 0;
  if (slept && contended)
    resumedNs = monotonicNs();
}

void Courtesy::look() {
  if (!contended && lastNs && ++numLooks % kLooks)
    return;
  uint64_t now = monotonicNs();
  // Long tiles look the same; only the system knows.
  if (lastNs && now - lastNs > kGapNs && noteSwitches()) {
    contended = true;
    numFree = 0;
    resumedNs = now;
  }
  lastNs = now;
  if (!contended || now - resumedNs <= kTurnNs)
    return;
  yieldThread();
  lastNs = resumedNs = monotonicNs();
  numFree = lastNs - now < kFreeNs ? numFree + 1 : 0;
  if (numFree < kFreeYields)
    return;
  contended = false;
  noteSwitches();
}

bool Courtesy::noteSwitches() {
  uint64_t before = numSwitches;
  numSwitches = involuntarySwitches();
  return numSwitches != before;
}

void Courtesy::avoid(const Courtesy *others, uint32_t count, const CpuSet &all) {
  uint32_t own = currentCpu();
  CpuSet free = all;
  bool isTaken = false;
  for (uint32_t i = 0; i < count; ++i)
    if (uint32_t other = others[i].cpu.loadRelaxed()) {
      isTaken |= other - 1 == own;
      free.remove(other - 1);
    }
  cpu.store(1 + own);
  // A refusal costs speed only.
  if (isTaken && free.count())
    isRestricted |= restrictThread(free);
}

void Courtesy::settle(const CpuSet &all) {
  if (isRestricted)
    restrictThread(all);
  isRestricted = false;
}

} // namespace moert
