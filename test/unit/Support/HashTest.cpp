// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hashes equal published values of XXH3, in one piece and in a stream.
#include "lib/Support/Hash.h"
#include "test/unit/Support/TestFolder.h"

#include "llvm/ADT/StringExtras.h"

using namespace moec;
using namespace moec::test;

TEST(Hash, EmptyInputHasTheKnownValues) {
  // XXH3_64bits and XXH3_128bits of nothing with seed 0, from the sanity tests of xxHash.
  EXPECT_EQ(toHex(hash64({})), "2d06800538d394c2");
  EXPECT_EQ(hash128({}).toHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, StreamEqualsOnePiece) {
  std::vector<uint8_t> bytes(5000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  for (size_t cut : {size_t(0), size_t(1), size_t(255), size_t(256), size_t(4999)}) {
    Hash128 hash;
    hash.update(llvm::ArrayRef(bytes).take_front(cut));
    hash.update(llvm::ArrayRef(bytes).drop_front(cut));
    EXPECT_TRUE(hash.digest() == hash128(bytes));
  }
}

TEST(Hash, FileIsHashedInPieces) {
  TestFolder folder;
  std::string content((5 << 19) + 17, 'x'); // pieces are 1 MiB
  content[1 << 20] = 'y';
  llvm::Expected<Digest128> hash = hashFile(folder.write("a", content));
  ASSERT_TRUE(bool(hash)) << llvm::toString(hash.takeError());
  EXPECT_TRUE(*hash == hash128(llvm::arrayRefFromStringRef(content)));
  EXPECT_TRUE(llvm::cantFail(hashFile(folder.write("empty", ""))) == hash128({}));
  EXPECT_TRUE(contains(errorText(hashFile(folder.path("no"))), "No such file"));
}

TEST(Hash, FormsConvert) {
  Digest128 digest{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(digest.toHex(), "fedcba98765432100123456789abcdef");
  EXPECT_TRUE(Digest128::fromHex(digest.toHex()) == digest);
  EXPECT_TRUE(Digest128::fromBytes(digest.toBytes()) == digest);
  EXPECT_EQ(digest.toBytes()[0], 0xef);
  EXPECT_FALSE(Digest128::fromHex("12").has_value());
  EXPECT_FALSE(Digest128::fromHex("fedcba98765432100123456789abcdeg").has_value());
  EXPECT_FALSE(Digest128::fromHex("-edcba98765432100123456789abcdef").has_value());
}
