// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes tokenizer.json of the byte tokenizer.
#include "lib/Synth/ByteTokenizer.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/SplitPattern.h"
#include "lib/Tokenizer/TokenizerJson.h"

namespace moec {

llvm::Expected<std::string> byteTokenizerJson(uint64_t vocabSize) {
  if (vocabSize < 256)
    return fault("vocab_size is " + llvm::Twine(vocabSize) +
                 ", expects at least 256 for the generated tokenizer of bytes; give a tokenizer.json by --tokenizer");
  JsonObject vocab;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocab.set(encodeByteLevel(static_cast<uint8_t>(byte)), byte);
  auto byteLevel = [] {
    return JsonObject()
        .set("type", "ByteLevel")
        .set("add_prefix_space", false)
        .set("trim_offsets", false)
        .set("use_regex", false);
  };
  JsonObject split;
  split.set("type", "Split")
      .set("pattern", JsonObject().set("Regex", patternText(MOETOK_PATTERN_QWEN2)))
      .set("behavior", "Isolated")
      .set("invert", false);
  JsonObject root;
  root.set("version", "1.0")
      .set("added_tokens", JsonArray())
      .set("normalizer", nullptr)
      .set("pre_tokenizer",
           JsonObject().set("type", "Sequence").set("pretokenizers", JsonArray{std::move(split), byteLevel()}))
      .set("post_processor", nullptr)
      .set("decoder", byteLevel())
      .set("model", JsonObject()
                        .set("type", "BPE")
                        .set("dropout", nullptr)
                        .set("unk_token", nullptr)
                        .set("continuing_subword_prefix", "")
                        .set("end_of_word_suffix", "")
                        .set("byte_fallback", false)
                        .set("ignore_merges", false)
                        .set("vocab", std::move(vocab))
                        .set("merges", JsonArray()));
  return writeJson(std::move(root)) + "\n";
}

} // namespace moec
