// SPDX-License-Identifier: Apache-2.0
/// \file
/// Byte-pair merging of one word. Part of the run step. Main source: Sennrich et al. 2016; order of merges as in the
/// `tokenizers` package: lowest rank first, leftmost first.
#ifndef RUNTIME_TOKENIZER_MERGE_H
#define RUNTIME_TOKENIZER_MERGE_H

#include "moert/TokenizerBlob.h"
#include "runtime/tokenizer/Scratch.h"

namespace moert {

/// The merge tables of an opened blob.
struct MergeTables {
  const uint32_t *byteIds;
  const moetok_merge *merges;
  const uint32_t *slots;
  uint32_t slotMask;
};

/// Merges words; reuses its buffers from word to word.
///
/// A word is an array of symbols, each linked to its neighbours and carrying the rank of the pair that it begins. The
/// lowest rank is found by a tree of minima over blocks of 64 symbols, so a word of n bytes costs O(n log n) time and
/// 16.5 n bytes; words up to 64 bytes are one block, a plain scan.
class Merger {
public:
  Merger(const MergeTables &tables, const ScratchAllocator &allocator)
      : tables(tables), symbols(allocator), minima(allocator) {}

  /// Splits `word` into tokens; bytes without a token are left out. False when memory is refused or the word has 2^31
  /// bytes or more.
  bool merge(const uint8_t *word, size_t size);

  size_t numTokens() const { return numLive; }
  /// Calls `visit(id)` for each token in order.
  template <typename Visit> void forEachToken(Visit visit) {
    for (uint32_t i = numLive ? 0 : kEnd; i != kEnd; i = symbols[i].next)
      visit(symbols[i].id);
  }

private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  static constexpr uint32_t kNoRank = UINT32_MAX;
  static constexpr uint32_t kBlock = 64;

  struct Symbol {
    uint32_t id;
    uint32_t rank; // of the pair (this, next), or kNoRank
    uint32_t previous;
    uint32_t next;
  };

  uint32_t rankOf(uint32_t left, uint32_t right) const;
  void setRank(uint32_t index, uint32_t rank);
  void updateRank(uint32_t index);
  uint32_t blockMinimum(uint32_t block);
  void buildMinima();
  uint32_t leftmostOf(uint32_t rank);
  void mergeAt(uint32_t index, uint32_t rank);

  const MergeTables &tables;
  ScratchArray<Symbol, 128> symbols;
  ScratchArray<uint32_t, 4> minima; // heap-shaped: node i has children 2i and 2i+1, leaves are blocks
  uint32_t numSymbols = 0;
  uint32_t numLeaves = 1;
  size_t numLive = 0;
};

} // namespace moert
#endif
