// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fake model's reference and pack writer.
#include "FakeModel.h"

#include "runtime/base/Hash.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace fake;

//===--- reference ------------------------------------------------------------------------------------------------===//

std::vector<std::vector<float>> fake::referenceLogits(const std::vector<int32_t> &ids, size_t window, size_t sinks,
                                                      uint32_t expertsUsed, bool hasState) {
  std::vector<std::vector<float>> rows;
  uint32_t state[2] = {0, 0};
  for (size_t p = 0; p < ids.size(); ++p) {
    uint32_t h = rowWord(static_cast<uint32_t>(ids[p]));
    for (size_t q = 0; q <= p; ++q)
      if (p - q < window || q < sinks)
        h += static_cast<uint32_t>((q + 1) * ids[q]);
    if (hasState)
      h += advanceState(state[0], state[1], ids[p]);
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      int32_t experts[kTopK];
      route(h, experts);
      uint32_t sum = 0;
      for (uint32_t r = 0; r < expertsUsed; ++r)
        sum += pairValue(expertWord(layer, experts[r]) * (kRecordBytes / 4), h, r) * (2 * r + 1);
      h += sum;
    }
    rows.emplace_back();
    for (uint32_t v = 0; v < kVocab; ++v)
      rows.back().push_back(logit(h, v));
  }
  return rows;
}

std::vector<int32_t> fake::somePrompt(size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>((i * 37 + 11) % kVocab));
  return ids;
}

//===--- descriptor and pack --------------------------------------------------------------------------------------===//

static const int32_t kStopIds[] = {5};
static moert_streamed_table tables[1];

static void setDescriptor(const PackOptions &options, const moepack_header &header, uint32_t rowRecord) {
  tables[0] = {rowRecord, kRowBytes, kVocab};
  moert_model_descriptor &d = moert_model_v1;
  d = {};
  memcpy(d.magic, "MOERTMDL", 8);
  d.abi_version = MOERT_GENERATED_ABI_VERSION;
  d.struct_bytes = sizeof(d);
  d.layout_family = MOEPACK_FAMILY_X86;
  d.model_name = "fake";
  d.target_name = "test";
  memcpy(d.plan_id, header.plan_id, 16);
  memcpy(d.weights_id, header.weights_id, 16);
  d.vocab_size = kVocab;
  d.hidden_size = kHidden;
  d.num_layers = options.layers;
  d.num_experts = kExperts;
  d.top_k = kTopK;
  d.context = kContext;
  d.max_chunk = kChunk;
  d.head_rows = kHeadRows;
  d.hidden_offset = offsetof(Arena, hidden);
  d.logits_offset = offsetof(Arena, logits);
  d.plan = {sizeof(Arena),
            kResidentBytes,
            options.kvBlockBytes,
            options.stateBytes,
            kRecordBytes,
            options.layers * kExperts,
            kTopK,
            0};
  d.num_streamed_tables = 1;
  d.streamed_tables = tables;
  d.generation = {0, 1, 0, 1, kStopIds};
  d.prefill = feedEntry;
  d.decode = feedEntry;
  d.head = headEntry;
  d.report_json = "{}";
}

namespace {
struct Writer {
  std::vector<uint8_t> bytes;
  std::vector<moepack_record> records;

  void align(uint64_t unit) { bytes.resize((bytes.size() + unit - 1) / unit * unit); }
  void add(moepack_record record, const std::vector<uint8_t> &payload) {
    record.offset = bytes.size();
    record.bytes = payload.size();
    record.checksum = moert::hash64(payload.data(), payload.size());
    records.push_back(record);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }
};
} // namespace

static std::vector<uint8_t> wordsOf(uint32_t word, uint64_t sizeBytes) {
  std::vector<uint8_t> payload(sizeBytes);
  for (uint64_t i = 0; i < sizeBytes; i += 4)
    memcpy(payload.data() + i, &word, 4);
  return payload;
}

static constexpr uint8_t kPlanId[16] = {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                        0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11};

static void addRows(Writer &writer) {
  std::vector<uint8_t> rows;
  for (uint32_t id = 0; id < kVocab; ++id) {
    std::vector<uint8_t> row = wordsOf(rowWord(id), kRowBytes);
    uint64_t checksum = moepack_row_checksum(moert::hash64(row.data(), row.size()), kPlanId, id);
    row.insert(row.end(), reinterpret_cast<uint8_t *>(&checksum), reinterpret_cast<uint8_t *>(&checksum) + 8);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  writer.add({MOEPACK_RECORD_ROWS, -1, -1, 0, 0, 0, kRowBytes, 0}, rows);
}

static void writeFile(const std::string &path, const uint8_t *data, size_t sizeBytes) {
  FILE *file = fopen(path.c_str(), "wb");
  ASSERT_TRUE(file && fwrite(data, 1, sizeBytes, file) == sizeBytes && fclose(file) == 0) << path;
}

namespace {
/// Folders of this run, removed at its end.
struct Folders {
  std::vector<std::string> paths;
  ~Folders() {
    for (const std::string &path : paths)
      std::filesystem::remove_all(path);
  }
};
} // namespace

static std::string freshFolder() {
  static Folders folders;
  char folder[] = "/tmp/moert-test-XXXXXX";
  EXPECT_TRUE(mkdtemp(folder));
  folders.paths.push_back(folder);
  return folder;
}

std::string fake::makePack(const PackOptions &options, PackLayout *layout) {
  std::string path = freshFolder() + "/fake.moepack";
  Writer writer;
  uint64_t numRecords = 3 + options.layers * kExperts;
  moepack_header header = {};
  memcpy(header.magic, MOEPACK_MAGIC, 8);
  header.format_version = MOEPACK_FORMAT_VERSION;
  header.abi_version = MOERT_GENERATED_ABI_VERSION;
  header.layout_family = MOEPACK_FAMILY_X86;
  header.page_bytes = header.directory_offset = MOEPACK_PAGE_BYTES;
  header.num_records = numRecords;
  header.part_table_offset = header.directory_offset + numRecords * sizeof(moepack_record);
  writer.bytes.resize(header.part_table_offset + 64 * sizeof(moepack_part));
  writer.align(MOEPACK_PAGE_BYTES);
  header.resident_offset = writer.bytes.size();
  header.resident_bytes = kResidentBytes;
  writer.add({MOEPACK_RECORD_RESIDENT, -1, -1, 0, 0, 0, 0, 0}, wordsOf(1, 512));
  writer.add({MOEPACK_RECORD_RESIDENT, 0, -1, 0, 0, 0, 0, 0}, wordsOf(2, 512));
  writer.align(MOEPACK_PAGE_BYTES);
  uint64_t experts = writer.bytes.size();
  for (uint32_t l = 0; l < options.layers; ++l)
    for (uint32_t e = 0; e < kExperts; ++e)
      writer.add({MOEPACK_RECORD_EXPERT, static_cast<int32_t>(l), static_cast<int32_t>(e), 0, 0, 0, 0, 0},
                 wordsOf(expertWord(l, e), kRecordBytes));
  uint64_t rows = writer.bytes.size();
  addRows(writer);
  header.total_bytes = writer.bytes.size();
  header.part_bytes = options.partBytes;
  // Parts of the wanted size end between records, since that is a multiple of the record size here.
  std::vector<moepack_part> parts;
  for (uint64_t start = 0; start < header.total_bytes; start += parts.back().bytes) {
    uint64_t wanted = options.partBytes && start == 0 ? experts : options.partBytes;
    parts.push_back({start, wanted ? std::min(wanted, header.total_bytes - start) : header.total_bytes, {}});
  }
  header.num_parts = static_cast<uint32_t>(parts.size());
  memcpy(header.plan_id, kPlanId, 16);
  moert::Hash128 hash;
  hash.begin();
  hash.update(writer.records.data(), numRecords * sizeof(moepack_record));
  hash.finish(header.weights_id);
  header.header_checksum = moert::hash64(&header, offsetof(moepack_header, header_checksum));
  memcpy(writer.bytes.data(), &header, sizeof(header));
  memcpy(writer.bytes.data() + header.directory_offset, writer.records.data(), numRecords * sizeof(moepack_record));
  memcpy(writer.bytes.data() + header.part_table_offset, parts.data(), parts.size() * sizeof(moepack_part));
  for (size_t i = 0; i < parts.size(); ++i)
    writeFile(i ? path + "." + std::to_string(i) : path, writer.bytes.data() + parts[i].start, parts[i].bytes);
  setDescriptor(options, header, static_cast<uint32_t>(numRecords - 1));
  if (layout)
    *layout = {header.directory_offset, header.resident_offset, experts, rows, header.total_bytes};
  return path;
}

void fake::flipBit(const std::string &path, uint64_t offset) {
  int fd = open(path.c_str(), O_RDWR);
  uint8_t byte = 0;
  ASSERT_EQ(pread(fd, &byte, 1, static_cast<off_t>(offset)), 1);
  byte ^= 0x10;
  ASSERT_EQ(pwrite(fd, &byte, 1, static_cast<off_t>(offset)), 1);
  close(fd);
}

void fake::truncateFile(const std::string &path, uint64_t sizeBytes) {
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(sizeBytes)), 0);
}

//===--- shorthands -----------------------------------------------------------------------------------------------===//

const moert_api &fake::api() { return *moert_get_api(MOERT_API_VERSION); }

moert_open_options fake::options(const std::string &path, uint64_t budget, uint32_t threads) {
  moert_open_options result = {};
  result.struct_bytes = sizeof(result);
  result.pack_path = path.c_str();
  result.budget_bytes = budget;
  result.threads = threads;
  return result;
}

uint64_t fake::budgetFor(uint64_t numSlots, uint32_t threads, uint32_t lanes) {
  moert_plan_info info = {};
  moert_open_options everything = options("", 0, threads);
  everything.reader_lanes = lanes;
  EXPECT_EQ(api().plan(&everything, &info, nullptr), MOERT_STATUS_OK);
  return info.plan_bytes - (info.num_experts - numSlots) * info.slot_bytes;
}

moert_model *fake::openOrDie(const moert_open_options &options) {
  moert_model *model = nullptr;
  moert_error error = {};
  if (api().open(&options, &model, &error) != MOERT_STATUS_OK) {
    fprintf(stderr, "open failed: %s\n", error.message);
    abort();
  }
  return model;
}

uint64_t fake::residentSetBytes() {
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long size = 0, resident = 0;
  int fields = fscanf(file, "%lu %lu", &size, &resident);
  fclose(file);
  return fields == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}
