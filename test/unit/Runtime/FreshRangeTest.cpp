// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory is made resident ahead of those who fill it, and keeps what they wrote.
#include "runtime/base/Memory.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace moert;

namespace {

constexpr uint64_t kBytes = 2 * kHugePageBytes + kPageBytes;

uint64_t residentBytes(const Region &region) {
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(region.sizeBytes / page);
  EXPECT_EQ(mincore(region.data, region.sizeBytes, pages.data()), 0);
  uint64_t count = 0;
  for (unsigned char isResident : pages)
    count += isResident & 1;
  return count * page;
}

TEST(FreshRange, BecomesResidentAndKeepsWhatItHolds) {
  Ledger ledger = {};
  ledger.initialize(2 * kBytes);
  Region region = {};
  ASSERT_TRUE(region.create(ledger, kBytes, Populate::OnFill));
  region.data[kHugePageBytes] = 7;
  // Not on Linux before 5.14.
  bool isOffered = prepareRange(region.data + kHugePageBytes, kPageBytes);
  FreshRange range = {region.data, kBytes};
  for (uint64_t steps = 1; range.left; ++steps) {
    range.prepareMore();
    ASSERT_LE(steps, 3u);
    EXPECT_TRUE(!isOffered || range.left == (steps == 3 ? 0 : kBytes - steps * kHugePageBytes)) << steps;
  }
  EXPECT_TRUE(!isOffered || residentBytes(region) == kBytes);
  EXPECT_EQ(region.data[kHugePageBytes], 7);
  region.destroy(ledger);
}

TEST(FreshRange, EndsWhereTheSystemRefuses) {
  Ledger ledger = {};
  ledger.initialize(2 * kBytes);
  Region region = {};
  ASSERT_TRUE(region.create(ledger, kBytes, Populate::OnCommit));
  FreshRange range = {region.data, kBytes};
  range.prepareMore();
  EXPECT_EQ(range.left, 0u);
  region.destroy(ledger);
}

} // namespace
