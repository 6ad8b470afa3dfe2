// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves that the demo model's tokenizer gives the ids of the `tokenizers` package
/// (tools/dev/make-tokenizer-golden.py).
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "lib/Support/Json.h"

#include "gtest/gtest.h"

using namespace moec;

static std::vector<int32_t> idsOf(const Json &value) {
  std::vector<int32_t> ids;
  for (const Json &id : *value.asArray())
    ids.push_back(static_cast<int32_t>(*id.asInt64()));
  return ids;
}

TEST(TokenizerGolden, GivesTheIdsOfTheReference) {
  Json golden = llvm::cantFail(parseJsonFile(MOEC_SOURCE_DIR "/test/data/tokenizer/golden.json"));
  constexpr uint32_t kVocabSize = 2048;
  llvm::Expected<std::vector<uint8_t>> blob =
      buildTokenizerBlob(MOEC_SOURCE_DIR "/examples/demo-moe/tokenizer.json", kVocabSize);
  ASSERT_TRUE(static_cast<bool>(blob)) << llvm::toString(blob.takeError());
  OpenedTokenizer tokenizer(*blob, kVocabSize);
  const JsonArray &rows = *golden.asObject()->find("rows")->asArray();
  ASSERT_GE(rows.size(), 300u);
  for (const Json &row : rows) {
    const std::string &text = *row.asObject()->find("text")->asString();
    const Json *plain = row.asObject()->find("ids"), *special = row.asObject()->find("ids_special");
    EXPECT_EQ(tokenizer.tokenize(text), idsOf(*plain)) << text;
    EXPECT_EQ(tokenizer.tokenize(text, MOERT_TOKENIZE_ALLOW_SPECIAL), idsOf(special ? *special : *plain)) << text;
  }
}
