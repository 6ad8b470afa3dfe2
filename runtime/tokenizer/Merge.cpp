// SPDX-License-Identifier: Apache-2.0
/// \file
/// Byte-pair merging of one word. Part of the run step.
#include "runtime/tokenizer/Merge.h"

namespace moert {

uint32_t Merger::rankOf(uint32_t left, uint32_t right) const {
  uint32_t slot = moetok_hash(left, right, tables.slotMask);
  // A validated table has an empty slot; the count bounds the walk in any case.
  for (uint32_t probes = 0; probes <= tables.slotMask; ++probes) {
    uint32_t entry = tables.slots[slot];
    if (entry == 0)
      return kNoRank;
    const moetok_merge &merge = tables.merges[entry - 1];
    if (merge.left == left && merge.right == right)
      return entry - 1;
    slot = (slot + 1) & tables.slotMask;
  }
  return kNoRank;
}

uint32_t Merger::blockMinimum(uint32_t block) {
  uint32_t begin = block * kBlock;
  uint32_t end = numSymbols - begin < kBlock ? numSymbols : begin + kBlock;
  uint32_t minimum = kNoRank;
  for (uint32_t i = begin; i < end; ++i)
    minimum = symbols[i].rank < minimum ? symbols[i].rank : minimum;
  return minimum;
}

void Merger::buildMinima() {
  uint32_t numBlocks = (numSymbols + kBlock - 1) / kBlock;
  for (uint32_t block = 0; block < numLeaves; ++block)
    minima[numLeaves + block] = block < numBlocks ? blockMinimum(block) : kNoRank;
  for (uint32_t node = numLeaves - 1; node >= 1; --node)
    minima[node] = minima[2 * node] < minima[2 * node + 1] ? minima[2 * node] : minima[2 * node + 1];
}

void Merger::setRank(uint32_t index, uint32_t rank) {
  uint32_t old = symbols[index].rank;
  symbols[index].rank = rank;
  uint32_t node = numLeaves + index / kBlock;
  if (rank > minima[node] && old > minima[node])
    return;
  minima[node] = rank <= minima[node] ? rank : blockMinimum(index / kBlock);
  for (node /= 2; node >= 1; node /= 2) {
    uint32_t lower = minima[2 * node] < minima[2 * node + 1] ? minima[2 * node] : minima[2 * node + 1];
    if (lower == minima[node])
      return;
    minima[node] = lower;
  }
}

void Merger::updateRank(uint32_t index) {
  uint32_t next = symbols[index].next;
  setRank(index, next == kEnd ? kNoRank : rankOf(symbols[index].id, symbols[next].id));
}

uint32_t Merger::leftmostOf(uint32_t rank) {
  uint32_t node = 1;
  while (node < numLeaves)
    node = minima[2 * node] == rank ? 2 * node : 2 * node + 1;
  uint32_t index = (node - numLeaves) * kBlock;
  while (symbols[index].rank != rank)
    ++index;
  return index;
}

void Merger::mergeAt(uint32_t index, uint32_t rank) {
  Symbol &left = symbols[index];
  uint32_t absorbed = left.next;
  left.id = tables.merges[rank].result;
  left.next = symbols[absorbed].next;
  if (left.next != kEnd)
    symbols[left.next].previous = index;
  --numLive;
  setRank(absorbed, kNoRank);
  updateRank(index);
  if (left.previous != kEnd)
    updateRank(left.previous);
}

bool Merger::merge(const uint8_t *word, size_t size) {
  numLive = 0;
  if (size >= INT32_MAX || !symbols.reserve(size, 0))
    return false;
  for (numLeaves = 1; static_cast<uint64_t>(numLeaves) * kBlock < size;)
    numLeaves *= 2;
  if (!minima.reserve(2 * static_cast<size_t>(numLeaves), 0))
    return false;
  numSymbols = 0;
  for (size_t i = 0; i < size; ++i)
    if (uint32_t id = tables.byteIds[word[i]]; id != MOETOK_NO_TOKEN) {
      symbols[numSymbols] = {id, kNoRank, numSymbols == 0 ? kEnd : numSymbols - 1, numSymbols + 1};
      ++numSymbols;
    }
  numLive = numSymbols;
  if (numSymbols == 0)
    return true;
  symbols[numSymbols - 1].next = kEnd;
  for (uint32_t i = 0; i + 1 < numSymbols; ++i)
    symbols[i].rank = rankOf(symbols[i].id, symbols[i + 1].id);
  buildMinima();
  while (minima[1] != kNoRank)
    mergeAt(leftmostOf(minima[1]), minima[1]);
  return true;
}

} // namespace moert
