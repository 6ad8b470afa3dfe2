// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which copies of the recurrent state are kept, and where they lie.
#include "runtime/session/Checkpoints.h"

#include "runtime/base/Checked.h"

#include <string.h>

namespace moert {

/// Logits lie behind the state.
static constexpr uint64_t kAlignBytes = 64;

/// Sizes that no memory has are cut, so that sums and products of them stay below 2^64.
static uint64_t stateBytesOf(const moert_model_descriptor &d) { return minOf(d.plan.state_bytes, 1ull << 48); }

uint64_t Checkpoints::bytesOfOne(const moert_model_descriptor &d) {
  return roundUp(roundUp(stateBytesOf(d), kAlignBytes) + sizeof(float) * static_cast<uint64_t>(d.vocab_size),
                 kPageBytes);
}

void Checkpoints::place(Carver &carver, uint32_t numCopies) { table = carver.take<Checkpoint>(numCopies); }

bool Checkpoints::create(Ledger &ledger, const moert_model_descriptor &d, uint32_t numCopies) {
  stateBytes = stateBytesOf(d);
  logitsBytes = sizeof(float) * static_cast<uint64_t>(d.vocab_size);
  stride = bytesOfOne(d);
  count = numCopies;
  return memory.create(ledger, stride * numCopies, Populate::OnCommit);
}

uint8_t *Checkpoints::dataOf(const Checkpoint &checkpoint) const {
  return memory.data + static_cast<uint64_t>(&checkpoint - table) * stride;
}

const float *Checkpoints::logitsOf(const Checkpoint &checkpoint) const {
  return reinterpret_cast<const float *>(dataOf(checkpoint) + roundUp(stateBytes, kAlignBytes));
}

const Checkpoint *Checkpoints::latest(uint64_t position) const {
  const Checkpoint *found = nullptr;
  for (uint32_t i = 0; i < count; ++i)
    if (table[i].position && table[i].position <= position && (!found || table[i].position > found->position))
      found = &table[i];
  return found;
}

void Checkpoints::dropBehind(uint64_t position) {
  for (uint32_t i = 0; i < count; ++i)
    if (table[i].position > position)
      table[i] = {};
}

bool Checkpoints::clear(Ledger &ledger) {
  dropBehind(0);
  prompt = reply = 0;
  return memory.decommitAll(ledger);
}

/// The distance that would lie between the neighbours of a copy without it, if there were one at `position`, too.
uint64_t Checkpoints::gapAround(const Checkpoint &checkpoint, uint64_t position) const {
  uint64_t below = 0, above = UINT64_MAX, at = checkpoint.position;
  auto look = [&](uint64_t other) {
    below = other < at ? maxOf(below, other) : below;
    above = other > at ? minOf(above, other) : above;
  };
  look(position);
  for (uint32_t i = 0; i < count; ++i)
    look(table[i].position);
  // Behind the last one lies what will be fed: it is the nearest to any rewind.
  return above == UINT64_MAX ? above : above - below;
}

Checkpoint *Checkpoints::choose(uint64_t position) {
  Checkpoint *chosen = nullptr;
  uint64_t smallest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t at = table[i].position;
    if (at == 0)
      return &table[i];
    if (at == reply || (at == prompt && count > 1))
      continue;
    uint64_t gap = gapAround(table[i], position);
    if (!chosen || gap < smallest || (gap == smallest && at < chosen->position)) {
      chosen = &table[i];
      smallest = gap;
    }
  }
  return chosen;
}

void Checkpoints::take(Ledger &ledger, uint64_t position, const uint8_t *state, const float *logits) {
  const Checkpoint *same = latest(position);
  if (!position || (same && same->position == position && (same->hasLogits || !logits)))
    return;
  Checkpoint *place = same && same->position == position ? &table[same - table] : choose(position);
  // Without memory nothing is lost but time.
  if (!place || !memory.commit(ledger, static_cast<uint64_t>(place - table + 1) * stride))
    return;
  *place = {position, logits != nullptr};
  memcpy(dataOf(*place), state, stateBytes);
  if (logits)
    memcpy(dataOf(*place) + roundUp(stateBytes, kAlignBytes), logits, logitsBytes);
}

} // namespace moert
