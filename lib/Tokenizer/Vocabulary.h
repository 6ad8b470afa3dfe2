// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fills a TokenizerModel with words, merges and added tokens, and refuses what contradicts itself; shared by the
/// readers of tokenizer.json and of parts. Part of the import step.
#ifndef LIB_TOKENIZER_VOCABULARY_H
#define LIB_TOKENIZER_VOCABULARY_H

#include "lib/Tokenizer/TokenizerModel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <optional>

namespace moec {

/// `name` is the file for messages; a `path` says where in it the value stands. Order of calls: words, merges, added
/// tokens, finish.
class VocabularyBuilder {
public:
  VocabularyBuilder(llvm::StringRef name, TokenizerModel &model) : name(name), model(model) {
    model.byteIds.fill(UINT32_MAX);
  }

  /// A word of the vocabulary, as byte-level BPE writes it.
  ///
  /// A text with other code points than the 256 of byte-level BPE is an error, unless an added token has the same text
  /// and id: then no merge makes it.
  llvm::Error addWord(const llvm::Twine &path, llvm::StringRef text, int64_t id);
  /// An id without text.
  llvm::Error addUnused(const llvm::Twine &path, int64_t id);
  /// The next merge by rank, of two words into a third.
  llvm::Error addMerge(const llvm::Twine &path, llvm::StringRef left, llvm::StringRef right);
  /// A token whose text stands as it is. Errors: the text is a word with another id; the id stands for another text.
  llvm::Error addToken(const llvm::Twine &path, llvm::StringRef content, int64_t id, AddedToken token);
  /// The id of a word or an added token.
  std::optional<uint32_t> find(llvm::StringRef text) const;
  /// Checks that ids have no gaps and that every word has bytes; makes the list of whole words.
  llvm::Error finish();

  llvm::Error fault(const llvm::Twine &path, const llvm::Twine &text) const;

private:
  enum class Place : uint8_t { Empty, Word, ForeignWord, Added, Unused };

  llvm::Error checkId(const llvm::Twine &path, int64_t id);

  llvm::StringRef name;
  TokenizerModel &model;
  llvm::StringMap<uint32_t> idByText; // texts as written in the file
  std::vector<Place> places;          // by id
};

} // namespace moec
#endif
