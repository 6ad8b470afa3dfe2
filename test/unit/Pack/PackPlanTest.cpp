// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offsets, record numbers, parts and identity of a plan.
#include "SamplePack.h"

#include "lib/Pack/Placement.h"

#include "gtest/gtest.h"

using namespace moec;
using namespace moec::test;

TEST(PackPlanTest, RecordsAreOrderedByKindAndAligned) {
  PackPlan plan = samplePlan();
  cantFail(plan.finish());
  ASSERT_EQ(plan.records().size(), 9u);
  std::vector<uint32_t> kinds;
  uint64_t end = plan.header().resident_offset;
  for (const PackRecord &record : plan.records()) {
    kinds.push_back(record.record.kind);
    EXPECT_GE(record.record.offset, end);
    EXPECT_EQ(record.record.offset % (record.record.kind == MOEPACK_RECORD_RESIDENT ? 64 : 16384), 0u);
    end = record.record.offset + record.record.bytes;
  }
  EXPECT_EQ(end, plan.header().total_bytes);
  EXPECT_EQ(kinds, (std::vector<uint32_t>{1, 1, 1, 1, 3, 2, 2, 2, 2}));
  // attention.q: 5 tiles x 2 groups x (8 * 32 + 16) = 2720, up to 2752; norm: 280 up to 3072 with 2752.
  EXPECT_EQ(plan.residentOffset(0), 0u);
  EXPECT_EQ(plan.residentOffset(2), 2752u);
  EXPECT_EQ(plan.residentOffset(3), 3072u);
  EXPECT_EQ(plan.tensors()[1].entry.record, 4u);
  EXPECT_EQ(plan.expertRecordBytes(), 16384u);
  EXPECT_EQ(plan.numExpertRecords(), 4u);
}

TEST(PackPlanTest, LargeResidentTensorsBeginAtPages) {
  ResidentSegment segment;
  EXPECT_EQ(segment.place(100), 0u);
  EXPECT_EQ(segment.place(64), 128u);
  EXPECT_EQ(segment.place(1 << 20), 16384u);
  EXPECT_EQ(segment.place(4), 16384u + (1 << 20));
  EXPECT_EQ(segment.sizeBytes(), 16384u + (1 << 20) + 64);
  EXPECT_EQ(segment.place(UINT64_MAX - 100), std::nullopt);
  EXPECT_EQ(placeExpert({100, 100, 16384 - 256})->recordBytes, 16384u);
  EXPECT_EQ(placeExpert({100, 100, 16384 - 255})->recordBytes, 32768u);
}

TEST(PackPlanTest, GivenSegmentOffsetsAreKept) {
  PackPlan plan(LayoutFamily::X86, "test");
  cantFail(plan.addResidentRaw("a", 1, 16, -1, 0));
  cantFail(plan.addResidentRaw("b", 1, 16, -1, 640));
  EXPECT_EQ(llvm::toString(plan.addResidentRaw("c", 1, 16, -1, 640).takeError()),
            "'c' is placed at offset 640 of the resident segment, expected a multiple of 64 not before 704");
  cantFail(plan.addResidentRaw("d", 1, 16));
  cantFail(plan.finish());
  EXPECT_EQ(plan.residentOffset(1), 640u);
  EXPECT_EQ(plan.residentOffset(2), 704u);
  EXPECT_EQ(plan.residentBytes(), 768u);
}

TEST(PackPlanTest, IdentityFollowsContentAndNotParts) {
  auto idOf = [](PackPlan plan, uint64_t partBytes = 0) {
    cantFail(plan.finish(partBytes));
    return plan.planId().toHex();
  };
  std::string id = idOf(samplePlan());
  EXPECT_EQ(idOf(samplePlan()), id);
  EXPECT_EQ(idOf(samplePlan(), 80000), id);
  EXPECT_NE(idOf(samplePlan(LayoutFamily::X86)), id);
  EXPECT_NE(idOf(samplePlan(LayoutFamily::Arm64, "test 2")), id);
  PackPlan other = samplePlan();
  other.addSource(1, hash128({}));
  EXPECT_NE(idOf(std::move(other)), id);
}

TEST(PackPlanTest, NoRecordCrossesAPart) {
  PackPlan plan = samplePlan();
  cantFail(plan.finish(80000));
  ASSERT_GT(plan.parts().size(), 1u);
  uint64_t start = 0;
  for (const moepack_part &part : plan.parts()) {
    EXPECT_EQ(part.start, start);
    EXPECT_LE(part.bytes, 80000u);
    EXPECT_EQ(part.start % 16384, 0u);
    start += part.bytes;
  }
  EXPECT_EQ(start, plan.header().total_bytes);
  for (const PackRecord &record : plan.records()) {
    const moepack_part &part = plan.parts()[record.record.part];
    EXPECT_GE(record.record.offset, part.start);
    EXPECT_LE(record.record.offset + record.record.bytes, part.start + part.bytes);
  }
}

TEST(PackPlanTest, RefusesWhatCannotBeWritten) {
  EXPECT_EQ(llvm::toString(PackPlan(LayoutFamily::X86, "t").finish()),
            "the pack has 0 records, expected 1 to 2^32 - 1");
  // The header and the tables take two pages; the next record begins 2752 bytes behind them.
  EXPECT_EQ(llvm::toString(samplePlan().finish(20000)),
            "parts of 20000 bytes are too small: 'attention.q' ends 35520 bytes behind the start of its part; choose a "
            "larger part size");
  PackPlan twice = samplePlan();
  auto matrix = [](const char *name) { return ExpertMatrix{name, 8, 32, Encoding::i4(32)}; };
  cantFail(twice.addExpert(1, 1, {matrix("g"), matrix("u"), matrix("d")}));
  EXPECT_EQ(llvm::toString(twice.finish()), "expert 1 of layer 1 stands in the pack twice or has a negative number");
  EXPECT_EQ(llvm::toString(twice.addResident("w", 4, 48, Encoding::i4(32)).takeError()),
            "'w' has 48 columns, which group 32 does not divide; choose a group that does, or f16");
}
