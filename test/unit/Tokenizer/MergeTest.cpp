// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves the merger against the definition (merge the leftmost pair of lowest rank until none is left), and that long
/// words cost neither quadratic time nor much memory.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace moec;

/// A model of 256 bytes and `numMerges` random merges over the letters a to d.
static TokenizerModel randomModel(unsigned seed, size_t numMerges) {
  std::mt19937 random(seed);
  TokenizerModel model;
  for (unsigned byte = 0; byte < 256; ++byte) {
    model.byteIds[byte] = byte;
    model.tokens.emplace_back(1, static_cast<char>(byte));
  }
  std::map<std::string, uint32_t> ids;
  std::vector<uint32_t> used = {'a', 'b', 'c', 'd'};
  std::map<std::pair<uint32_t, uint32_t>, bool> pairs;
  while (model.merges.size() < numMerges) {
    uint32_t left = used[random() % used.size()], right = used[random() % used.size()];
    std::string text = model.tokens[left] + model.tokens[right];
    if (text.size() > 12 || !pairs.try_emplace({left, right}, true).second)
      continue;
    auto [entry, isNew] = ids.try_emplace(text, static_cast<uint32_t>(model.tokens.size()));
    if (isNew) {
      model.tokens.push_back(text);
      used.push_back(entry->second);
    }
    model.merges.push_back({left, right, entry->second});
  }
  // Ranks need not follow the order in which texts became possible.
  std::shuffle(model.merges.begin(), model.merges.end(), random);
  model.vocabSize = static_cast<uint32_t>(model.tokens.size());
  return model;
}

static std::vector<int32_t> mergeByDefinition(const TokenizerModel &model, const std::string &word) {
  std::vector<int32_t> ids(word.begin(), word.end());
  for (;;) {
    size_t best = model.merges.size(), at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      for (size_t rank = 0; rank < best; ++rank)
        if (static_cast<int32_t>(model.merges[rank].left) == ids[i] &&
            static_cast<int32_t>(model.merges[rank].right) == ids[i + 1]) {
          best = rank;
          at = i;
        }
    if (best == model.merges.size())
      return ids;
    ids[at] = static_cast<int32_t>(model.merges[best].result);
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(Merge, FollowsTheDefinition) {
  std::mt19937 random(3);
  for (unsigned seed = 0; seed < 10; ++seed) {
    TokenizerModel model = randomModel(seed, 40);
    OpenedTokenizer tokenizer(llvm::cantFail(writeTokenizerBlob(model)), model.vocabSize);
    // Lengths around the block of 64 and its powers of two.
    for (size_t size : {1, 2, 3, 10, 63, 64, 65, 128, 129, 200, 321}) {
      std::string word;
      for (size_t i = 0; i < size; ++i)
        word += "abcd"[random() % 4];
      EXPECT_EQ(tokenizer.tokenize(word), mergeByDefinition(model, word)) << word;
    }
  }
}

TEST(Merge, LongWordsAreCheap) {
  // A quadratic merger needs minutes for one word of 1,000,000 letters; this test then runs into the time limit.
  TokenizerModel model = randomModel(1, 200);
  OpenedTokenizer tokenizer(llvm::cantFail(writeTokenizerBlob(model)), model.vocabSize);
  std::mt19937 random(5);
  std::string word;
  for (int i = 0; i < 1000000; ++i)
    word += "abcd"[random() % 4];
  EXPECT_EQ(tokenizer.detokenize(tokenizer.tokenize(word)), word);
  EXPECT_LT(tokenizer.scratch.peakBytes, 17u * word.size());
}
