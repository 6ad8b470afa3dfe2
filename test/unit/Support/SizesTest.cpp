// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes on the command line: exact, and every wrong form is refused with the valid ones. Checked arithmetic.
#include "lib/Support/Sizes.h"
#include "lib/Support/CheckedMath.h"
#include "test/unit/Support/TestFolder.h"

using namespace moec;
using namespace moec::test;

TEST(Sizes, ReadsEveryForm) {
  struct {
    const char *text;
    uint64_t bytes;
  } cases[] = {{"123", 123},
               {"0", 0},
               {"7B", 7},
               {"1KB", 1000},
               {"1KiB", 1024},
               {"10.5GB", 10'500'000'000},
               {"10.5 GB", 10'500'000'000},
               {"1MiB", 1 << 20},
               {"0.5MiB", 1 << 19},
               {"1.1MB", 1'100'000},
               {"2gib", uint64_t(2) << 30},
               {"3TB", 3'000'000'000'000},
               {"1TiB", uint64_t(1) << 40},
               {"0.3KiB", 307}, // 307.2: the part of a byte is dropped
               {"0.100000000000000000000000000001GB", 100'000'000},
               {"18446744073709551615", UINT64_MAX}};
  for (const auto &one : cases) {
    llvm::Expected<uint64_t> size = parseSize(one.text);
    ASSERT_TRUE(bool(size)) << one.text << ": " << llvm::toString(size.takeError());
    EXPECT_EQ(*size, one.bytes) << one.text;
  }
}

TEST(Sizes, RefusesOthersAndListsTheForms) {
  struct {
    const char *text, *why;
  } cases[] = {{"-1", "is negative"},
               {"", "does not begin with a digit"},
               {".5GB", "does not begin with a digit"},
               {"+1", "does not begin with a digit"},
               {"1.GB", "has no digit behind its point"},
               {"1G", "unknown unit 'G'"},
               {"10 apples", "unknown unit 'apples'"},
               {"1e9", "unknown unit 'e9'"},
               {"1GB2", "unknown unit 'GB2'"},
               {"1.5", "is a fraction of bytes"},
               {"1.5B", "is a fraction of bytes"},
               {"18446744073709551616", "is 2^64 bytes or more"},
               {"16777216TiB", "is 2^64 bytes or more"},
               {"99999999999999999999999999999999999999999GB", "is 2^64 bytes or more"}};
  for (const auto &one : cases) {
    std::string text = errorText(parseSize(one.text));
    EXPECT_TRUE(contains(text, one.why));
    EXPECT_TRUE(contains(text, "expects a number and KB, MB, GB"));
  }
}

TEST(Sizes, Prints) {
  EXPECT_EQ(formatSize(0), "0 bytes");
  EXPECT_EQ(formatSize(1), "1 byte");
  EXPECT_EQ(formatSize(1023), "1023 bytes");
  EXPECT_EQ(formatSize(1536), "1.5 KiB");
  EXPECT_EQ(formatSize((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(formatSizeExact(12'025'908'429), "12025908429 bytes (11.2 GiB)");
  EXPECT_EQ(formatSize(UINT64_MAX), "16777216.0 TiB");
}

TEST(CheckedMath, SeesEveryOverflow) {
  EXPECT_EQ(checkedAdd(UINT64_MAX, 0), UINT64_MAX);
  EXPECT_EQ(checkedAdd(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checkedMul(uint64_t(1) << 32, (uint64_t(1) << 32) - 1), 0xFFFFFFFF00000000u);
  EXPECT_EQ(checkedMul(uint64_t(1) << 32, uint64_t(1) << 32), std::nullopt);
  EXPECT_EQ(checkedProduct({}), 1u);
  EXPECT_EQ(checkedProduct({UINT64_MAX, 3, 0}), 0u);
  EXPECT_EQ(checkedProduct({UINT64_MAX, 3}), std::nullopt);
  EXPECT_EQ(checkedAlignUp(0, 64), 0u);
  EXPECT_EQ(checkedAlignUp(65, 64), 128u);
  EXPECT_EQ(checkedAlignUp(10, 3), 12u);
  EXPECT_EQ(checkedAlignUp(UINT64_MAX, 64), std::nullopt);
  EXPECT_EQ(checkedAlignUp(1, 0), std::nullopt);
}
