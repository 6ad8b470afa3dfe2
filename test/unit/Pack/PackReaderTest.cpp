// SPDX-License-Identifier: Apache-2.0
/// \file
/// Damaged packs of every kind are refused with one clear message; no flipped bit stays unseen.
#include "SamplePack.h"

#include "lib/Pack/PackReader.h"
#include "moert/Generated.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace moec;
using namespace moec::test;

namespace {

class PackReaderTest : public testing::Test {
protected:
  PackReaderTest() : plan(samplePlan()), path(scratch.path("a.moepack")) {
    cantFail(plan.finish());
    writeSample(plan, path);
    content = readFile(path);
  }

  /// The message of opening `changed`, or the first fault, or "".
  std::string faultOf(llvm::StringRef changed) {
    writeFile(path, changed);
    llvm::Expected<PackReader> pack = PackReader::open(path);
    if (!pack)
      return without(llvm::toString(pack.takeError()));
    PackVerifyResult result = pack->verify();
    return result.faults.empty() ? "" : without(result.faults.front());
  }

  /// Changes the header and makes its checksum right again.
  std::string withHeader(llvm::function_ref<void(moepack_header &)> change) {
    std::string changed = content;
    moepack_header header;
    std::memcpy(&header, changed.data(), sizeof(header));
    change(header);
    const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
    header.header_checksum = hash64(llvm::ArrayRef(bytes, offsetof(moepack_header, header_checksum)));
    std::memcpy(changed.data(), &header, sizeof(header));
    return changed;
  }

  /// Changes the directory and makes all hashes right again.
  std::string withRecord(size_t index, llvm::function_ref<void(moepack_record &)> change) {
    std::string original = content;
    auto *records = reinterpret_cast<moepack_record *>(content.data() + MOEPACK_PAGE_BYTES);
    change(records[index]);
    auto id = hash128(llvm::ArrayRef(reinterpret_cast<uint8_t *>(records), 9 * sizeof(moepack_record))).toBytes();
    std::string changed = withHeader([&](moepack_header &header) { std::memcpy(header.weights_id, id.data(), 16); });
    content = original;
    return changed;
  }

  /// `text` without the folder.
  std::string without(std::string text) {
    for (size_t at; (at = text.find(path)) != std::string::npos;)
      text.replace(at, path.size(), 1, 'P');
    return text;
  }

  Scratch scratch;
  PackPlan plan;
  std::string path, content;
};

} // namespace

TEST_F(PackReaderTest, WholePackHasNoFault) { EXPECT_EQ(faultOf(content), ""); }

TEST_F(PackReaderTest, EveryFlippedBitIsSeen) {
  // A step that is odd and prime meets every kind of place; the tables are tried byte by byte.
  std::vector<size_t> offsets;
  for (size_t i = 0; i < content.size(); i += 1009)
    offsets.push_back(i);
  for (size_t i = 0; i < sizeof(moepack_header); i += 3)
    offsets.push_back(i);
  for (size_t i = MOEPACK_PAGE_BYTES; i < plan.header().part_table_offset + 32; i += 29)
    offsets.push_back(i);
  for (size_t offset : offsets) {
    content[offset] ^= 4;
    EXPECT_NE(faultOf(content), "") << "bit flipped at " << offset;
    content[offset] ^= 4;
  }
}

TEST_F(PackReaderTest, TruncationGivesFoundAndNeeded) {
  std::string size = std::to_string(content.size());
  for (size_t lost : {size_t(1), size_t(4096), content.size() / 2})
    EXPECT_EQ(faultOf(llvm::StringRef(content).drop_back(lost)),
              "'P' is truncated: found " + std::to_string(content.size() - lost) + " bytes, needed " + size);
  EXPECT_EQ(faultOf(content + "x"),
            "'P' is too long: found " + std::to_string(content.size() + 1) + " bytes, needed " + size);
  EXPECT_EQ(faultOf(llvm::StringRef(content).take_front(100)),
            "'P' is truncated: found 100 bytes, needed at least 16384");
  EXPECT_EQ(faultOf(""), "'P' is not a weight pack: it does not begin with 'MOEPACK1'");
  EXPECT_EQ(faultOf("not a pack at all"), "'P' is not a weight pack: it does not begin with 'MOEPACK1'");
}

TEST_F(PackReaderTest, HeaderFaultsAreNamed) {
  const std::string abi = std::to_string(MOERT_GENERATED_ABI_VERSION);
  // The version before the present one had the same structures, but other codes.
  for (uint32_t version : {MOEPACK_FORMAT_VERSION - 1, 9u})
    EXPECT_EQ(faultOf(withHeader([&](moepack_header &h) { h.format_version = version; })),
              "'P' has format version " + std::to_string(version) + " and abi version " + abi + ", expected " +
                  std::to_string(MOEPACK_FORMAT_VERSION) + " and " + abi + "; compile the model again");
  content[40] ^= 1;
  EXPECT_EQ(faultOf(content).substr(0, 42), "'P' has a damaged header: its checksum is ");
  content[40] ^= 1;
  EXPECT_EQ(faultOf(withHeader([](moepack_header &h) { h.layout_family = 3; })),
            "'P' has a damaged header: layout family 3, expected 1 or 2");
  for (uint64_t moepack_header::*field :
       {&moepack_header::num_records, &moepack_header::tensor_table_offset, &moepack_header::tensor_table_bytes,
        &moepack_header::part_table_offset, &moepack_header::resident_offset, &moepack_header::resident_bytes,
        &moepack_header::total_bytes})
    for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(1) << 40, UINT64_MAX - 7})
      EXPECT_NE(faultOf(withHeader([&](moepack_header &h) { h.*field = value; })), "") << value;
}

TEST_F(PackReaderTest, RecordsThatLieWrongAreNamed) {
  EXPECT_NE(faultOf(withRecord(6, [](moepack_record &r) { r.offset = UINT64_MAX - 16383; })).find("lies out of bounds"),
            std::string::npos);
  EXPECT_NE(faultOf(withRecord(6, [](moepack_record &r) { r.offset -= 16384; })).find("overlaps the record before it"),
            std::string::npos);
  EXPECT_NE(faultOf(withRecord(6, [](moepack_record &r) { r.part = 1; })).find("does not lie in part 1"),
            std::string::npos);
  EXPECT_NE(faultOf(withRecord(6, [](moepack_record &r) { r.kind = 7; })).find("has an unknown kind"),
            std::string::npos);
  EXPECT_NE(faultOf(withRecord(8, [](moepack_record &r) { r.bytes -= 64; })).find("is not aligned to 16384 bytes"),
            std::string::npos);
  EXPECT_NE(faultOf(withRecord(4, [](moepack_record &r) { r.row_bytes = 0; })).find("has rows of 0 bytes"),
            std::string::npos);
}

TEST_F(PackReaderTest, VerifyNamesTheRecordAndTheRow) {
  uint64_t expert = plan.records()[6].record.offset, table = plan.records()[4].record.offset;
  std::string changed = content;
  changed[expert + 10] ^= 1;
  EXPECT_EQ(faultOf(changed).substr(0, 117),
            "expert 1 of layer 0 ('layer0.expert1.gate', 'layer0.expert1.up', 'layer0.expert1.down') is damaged: "
            "checksum of 16384");
  EXPECT_NE(faultOf(changed).find(" bytes at offset " + std::to_string(expert) + " of 'P' is "), std::string::npos);
  changed = content;
  changed[table + 7 * 64] ^= 1; // 56 bytes of payload and 8 of checksum
  EXPECT_NE(faultOf(changed).find("row table 'embed tokens' is damaged"), std::string::npos);
  EXPECT_NE(faultOf(changed).find("; the first damaged row is 7"), std::string::npos);
}

TEST_F(PackReaderTest, MissingPartIsNamed) {
  PackPlan cut = samplePlan();
  cantFail(cut.finish(80000));
  writeSample(cut, path);
  writeFile(path + ".1", "short");
  EXPECT_EQ(without(llvm::toString(PackReader::open(path).takeError())),
            "'P.1' is truncated: found 5 bytes, needed " + std::to_string(cut.parts()[1].bytes));
  llvm::sys::fs::remove(path + ".1");
  EXPECT_NE(llvm::toString(PackReader::open(path).takeError()).find("part 1 of 2 of '"), std::string::npos);
}
