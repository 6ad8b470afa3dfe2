// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves what is read from tokenizer.json, and that everything the runtime cannot reproduce is refused by name.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "gtest/gtest.h"

using namespace moec;

/// The message for the small tokenizer with `from` replaced by `to`.
static std::string messageFor(const std::string &from, const std::string &to, uint32_t vocabSize = kSmallVocabSize) {
  std::string json = from.empty() ? smallTokenizerJson() : replaced(smallTokenizerJson(), from, to);
  llvm::Expected<TokenizerModel> model = readTokenizerJson(json, "dir/tokenizer.json", vocabSize);
  if (!model)
    return llvm::toString(model.takeError());
  llvm::Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  return blob ? "" : llvm::toString(blob.takeError());
}

static testing::AssertionResult has(const std::string &message, const std::string &part) {
  bool found = message.find(part) != std::string::npos;
  return (found ? testing::AssertionSuccess() : testing::AssertionFailure()) << "'" << message << "'";
}

TEST(TokenizerJson, ReadsVocabularyMergesAndAddedTokens) {
  TokenizerModel model = llvm::cantFail(readTokenizerJson(smallTokenizerJson(), "small", kSmallVocabSize));
  EXPECT_EQ(model.tokens.size(), 263u);
  EXPECT_TRUE(model.normalizeNfc);
  EXPECT_EQ(model.pattern, MOETOK_PATTERN_QWEN2);
  EXPECT_EQ(model.tokens[259], " a");
  EXPECT_EQ(model.byteIds[0xFF], 0xFFu);
  ASSERT_EQ(model.merges.size(), 4u);
  EXPECT_EQ(model.merges[1].result, 258u);
  ASSERT_EQ(model.added.size(), 3u);
  EXPECT_TRUE(model.added[0].special);
  EXPECT_FALSE(model.added[1].special);
}

TEST(TokenizerJson, RecognizesThePatternOfQwen35) {
  std::string json = replaced(smallTokenizerJson(), "?\\\\p{L}+|", "?[\\\\p{L}\\\\p{M}]+|");
  json = replaced(json, "[^\\\\s\\\\p{L}\\\\p{N}]", "[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]");
  EXPECT_EQ(llvm::cantFail(readTokenizerJson(json, "small", kSmallVocabSize)).pattern, MOETOK_PATTERN_QWEN35);
}

TEST(TokenizerJson, AcceptsAMissingNormalizer) {
  std::string json = replaced(smallTokenizerJson(), R"({"type": "NFC"})", "null");
  EXPECT_FALSE(llvm::cantFail(readTokenizerJson(json, "small", kSmallVocabSize)).normalizeNfc);
}

TEST(TokenizerJson, NamesFileAndPath) {
  EXPECT_TRUE(has(messageFor(R"("type": "BPE")", R"("type": "Unigram")"),
                  R"(dir/tokenizer.json: model.type: expected "BPE", but found "Unigram")"));
}

TEST(TokenizerJson, RefusesOtherKinds) {
  EXPECT_TRUE(has(messageFor(R"("type": "NFC")", R"("type": "NFKC")"), "normalizer: expected null or"));
  EXPECT_TRUE(has(messageFor("|\\\\p{N}|", "|\\\\p{N}{1,4}|"), "pretokenizers[0].pattern: expected the split regex"));
  // The text of the regex that was found.
  EXPECT_TRUE(has(messageFor("|\\\\p{N}|", "|\\\\p{N}+|"), "?\\p{L}+|\\p{N}+| ?["));
  EXPECT_TRUE(has(messageFor(R"("Isolated")", R"("Removed")"), "behavior: expected \"Isolated\""));
  EXPECT_TRUE(has(messageFor(R"("type": "Sequence")", R"("type": "Whitespace")"), "pre_tokenizer: expected"));
  EXPECT_TRUE(has(messageFor(R"("use_regex": false)", R"("use_regex": true)"), "use_regex: expected false"));
  EXPECT_TRUE(has(messageFor(R"("decoder": {"type": "ByteLevel"})", R"("decoder": {"type": "Fuse"})"), "decoder"));
  EXPECT_TRUE(has(messageFor(R"("type": "NFC")", R"("type": "Prepend")"), "SentencePiece-style tokenizer, as that"));
  EXPECT_TRUE(has(messageFor(R"("post_processor": null)", R"("post_processor": {"type": "BertProcessing"})"),
                  "post_processor: expected null, ByteLevel, TemplateProcessing or"));
}

TEST(TokenizerJson, RefusesOptionsOfTheModel) {
  EXPECT_TRUE(has(messageFor(R"("dropout": null)", R"("dropout": 0.1)"), "model.dropout: expected none"));
  EXPECT_TRUE(
      has(messageFor(R"("ignore_merges": false)", R"("ignore_merges": 1)"), "model.ignore_merges: expected true"));
  EXPECT_TRUE(
      has(messageFor(R"("byte_fallback": false)", R"("byte_fallback": 1)"), "model.byte_fallback: expected true"));
  // All bytes are tokens: there is nothing to fall back from.
  EXPECT_EQ(messageFor(R"("byte_fallback": false)", R"("byte_fallback": true)"), "");
}

TEST(TokenizerJson, RefusesBadIds) {
  EXPECT_TRUE(has(messageFor("\"ab\":256", "\"ab\":255"), "id 255 already stands for"));
  EXPECT_TRUE(has(messageFor("\"ab\":256", "\"ab\":-1"), "expected an id below 264"));
  EXPECT_TRUE(has(messageFor("\"ab\":256", "\"ab\":\"x\""), "model.vocab[\"ab\"]: expected an id, but found \"x\""));
  EXPECT_TRUE(has(messageFor("", "", 262), "added_tokens[2]: expected an id below 262"));
  EXPECT_TRUE(has(messageFor(R"("id": 262)", R"("id": 263)"), "id 262 of 264 has no token"));
  EXPECT_TRUE(has(messageFor(R"("id": 262)", R"("id": 97)"), "id 97 already stands for 'a'"));
  EXPECT_EQ(messageFor("", "", 263), "");
}

TEST(TokenizerJson, RefusesBadMerges) {
  EXPECT_TRUE(has(messageFor(R"("ab c")", R"("abc")"), "model.merges[2]: expected two tokens"));
  EXPECT_TRUE(has(messageFor(R"("ab c")", R"("ab d")"), "'abd' is not in it"));
  EXPECT_TRUE(has(messageFor(R"("ab c")", R"("a b")"), "stands already at model.merges[0]"));
  EXPECT_TRUE(has(messageFor(R"("ab c")", "17"), "but found 17"));
}

TEST(TokenizerJson, RefusesBadTokens) {
  EXPECT_TRUE(has(messageFor("\"!\":33", "\"漢\":33"), "256 code points of byte-level BPE"));
  // A byte without a token is left out, unless something stands for it.
  EXPECT_EQ(messageFor("\"!\":33", "\"!!\":33"), "");
  std::string unknown = replaced(smallTokenizerJson(), "\"!\":33", "\"!!\":33");
  for (const char *option : {R"("unk_token": "a", "dropout")", R"("dropout")"}) {
    bool fallsBack = std::string(option) == R"("dropout")";
    std::string json = replaced(unknown, R"("dropout")", option);
    json = fallsBack ? replaced(json, R"("byte_fallback": false)", R"("byte_fallback": true)") : json;
    TokenizerModel model = llvm::cantFail(readTokenizerJson(json, "small", kSmallVocabSize));
    EXPECT_TRUE(has(llvm::toString(writeTokenizerBlob(model).takeError()), "byte 0x21 has no token of its own"));
  }
  EXPECT_TRUE(has(messageFor(R"("content": "<t>")", R"("content": "")"), "added_tokens[1].content: expected a text"));
  EXPECT_TRUE(has(messageFor(R"("content": "<t>")", R"("lstrip": 1, "content": "<t>")"),
                  "added_tokens[1].lstrip: expected true or false, but found 1"));
  EXPECT_TRUE(has(messageFor(R"("content": "<s>", "special": true, "normalized": false)",
                             R"("content": "<\u00e9>", "normalized": true)"),
                  "expected an ASCII text where \"normalized\" is true"));
  EXPECT_TRUE(has(messageFor(R"("content": "<t>")", R"("content": "ab")"),
                  "added_tokens[1]: 'ab' has id 261 here, but id 256 in model.vocab"));
  EXPECT_TRUE(has(messageFor(R"("content": "<tt>")", R"("content": "<t>")"), "ids 261 and 262 have the same text"));
}

TEST(TokenizerJson, RefusesWhatIsNoJson) {
  EXPECT_TRUE(has(messageFor("{", "["), "dir/tokenizer.json"));
  EXPECT_TRUE(has(llvm::toString(buildTokenizerBlob("/nonexistent/tokenizer.json", 1).takeError()),
                  "/nonexistent/tokenizer.json"));
}

TEST(TokenizerJson, ReadsWhatIsPutAroundAText) {
  std::string post = R"("post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"},
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
      {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<e>", "type_id": 0}}], "pair": [],
     "special_tokens": {"<s>": {"id": "<s>", "ids": [260], "tokens": ["<s>"]},
                        "<e>": {"id": "<e>", "ids": [261, 3], "tokens": ["<t>", "x"]}}}]})";
  std::string json = replaced(smallTokenizerJson(), R"("post_processor": null)", post);
  TokenizerModel model = llvm::cantFail(readTokenizerJson(json, "small", kSmallVocabSize));
  EXPECT_EQ(model.prefix, std::vector<uint32_t>({260}));
  EXPECT_EQ(model.suffix, std::vector<uint32_t>({261, 3}));
  auto message = [&](const std::string &from, const std::string &to) {
    return messageFor(R"("post_processor": null)", replaced(post, from, to));
  };
  EXPECT_TRUE(
      has(message(R"("Sequence": {"id": "A")", R"("Sequence": {"id": "B")"), "processors[1].single[1]: expected"));
  EXPECT_TRUE(has(message(R"("ids": [260])", R"("ids": [263])"), "expected ids below 263 for '<s>', but found 263"));
  EXPECT_TRUE(has(message(R"("<e>": {"id")", R"("<f>": {"id")"), "expected '<e>' in special_tokens"));
  EXPECT_TRUE(has(message(R"({"Sequence": {"id": "A", "type_id": 0}}, )", ""), "expected the Sequence A in it"));
  EXPECT_TRUE(has(message(R"({"type": "ByteLevel"})", R"({"type": "Sequence"})"), "processors[0]: expected null"));
}
