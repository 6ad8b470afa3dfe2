// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves that the parts of a GGUF file give the tokenizer that tokenizer.json gives.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "lib/Tokenizer/TokenizerParts.h"

#include "gtest/gtest.h"

using namespace moec;

static TokenizerParts smallParts() {
  TokenizerParts parts;
  parts.name = "a.gguf";
  parts.vocabSize = kSmallVocabSize;
  parts.pre = "qwen2";
  for (unsigned byte = 0; byte < 256; ++byte)
    parts.tokens.push_back(encodeByteLevel(static_cast<uint8_t>(byte)));
  std::string space = encodeByteLevel(' ');
  for (const std::string &text : {std::string("ab"), std::string("abc"), std::string("bc"), space + "a",
                                  std::string("<s>"), std::string("<t>"), std::string("<tt>"), std::string("[PAD263]")})
    parts.tokens.push_back(text);
  parts.types.assign(264, 1);
  parts.types[260] = 3;
  parts.types[261] = parts.types[262] = 4;
  parts.types[263] = 5;
  parts.merges = {"a b", "b c", "ab c", space + " a"};
  return parts;
}

static std::string messageOf(const TokenizerParts &parts) {
  return llvm::toString(makeTokenizerModel(parts).takeError());
}

TEST(TokenizerParts, GiveTheTokenizerOfTheJson) {
  TokenizerModel model = llvm::cantFail(makeTokenizerModel(smallParts()));
  OpenedTokenizer parts(llvm::cantFail(writeTokenizerBlob(model)), kSmallVocabSize);
  OpenedTokenizer json = openSmallTokenizer();
  for (const char *text : {"abc ab<t>a<s> it's", "e\xCC\x81 12 3\n\n x", "[PAD263]\xFF"})
    for (uint32_t flags : {0u, uint32_t(MOERT_TOKENIZE_ALLOW_SPECIAL)})
      EXPECT_EQ(parts.tokenize(text, flags), json.tokenize(text, flags)) << text;
  EXPECT_EQ(parts.detokenize({263, 97, 260}), "a<s>");
}

TEST(TokenizerParts, AddBeginningAndEndOnRequest) {
  TokenizerParts parts = smallParts();
  parts.addBos = parts.addEos = true;
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.add_bos_token: expected tokenizer.ggml.bos_token_id beside it, "
                              "but found none");
  parts.bosId = 260;
  parts.eosId = 264;
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.eos_token_id: expected an id below 264, but found 264");
  parts.eosId = 261;
  OpenedTokenizer tokenizer(llvm::cantFail(writeTokenizerBlob(llvm::cantFail(makeTokenizerModel(parts)))),
                            kSmallVocabSize);
  EXPECT_EQ(tokenizer.tokenize("a", MOERT_TOKENIZE_ADD_SPECIAL), std::vector<int32_t>({260, 97, 261}));
  EXPECT_EQ(tokenizer.tokenize("a"), std::vector<int32_t>({97}));
}

TEST(TokenizerParts, RefuseWhatIsNotSupported) {
  TokenizerParts parts = smallParts();
  parts.pre = "gpt-4o";
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.pre: expected one of qwen2, qwen35, llama-bpe, llama3, llama-v3, "
                              "smollm, gpt-2, olmo, but found \"gpt-4o\"");
  parts = smallParts();
  parts.model = "llama";
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.model: expected \"gpt2\" (byte-level BPE), but found "
                              "\"llama\", a SentencePiece vocabulary");
  parts = smallParts();
  parts.types.pop_back();
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.token_type: expected 264 types, one for each token, "
                              "but found 263");
  parts = smallParts();
  parts.merges[1] = "bc";
  EXPECT_EQ(messageOf(parts), "a.gguf: tokenizer.ggml.merges[1]: expected two tokens as \"a b\", but found 'bc'");
  parts.merges[1] = "b q";
  EXPECT_EQ(messageOf(parts),
            "a.gguf: tokenizer.ggml.merges[1]: expected tokens of model.vocab, but 'bq' is not in it");
  parts = smallParts();
  parts.tokens[262] = "<t>";
  EXPECT_NE(llvm::toString(writeTokenizerBlob(llvm::cantFail(makeTokenizerModel(parts))).takeError()), "");
  parts = smallParts();
  parts.vocabSize = 263;
  EXPECT_EQ(messageOf(parts),
            "a.gguf: tokenizer.ggml.tokens[263]: expected an id below 263 (vocab_size of the config), but found 263");
}
