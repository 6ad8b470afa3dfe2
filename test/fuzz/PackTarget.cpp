// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weight packs through the compiler's reader and the runtime's open. Checksums would refuse nearly every changed pack,
/// so the first byte of an input says which of them are written anew.
#include "test/fuzz/Targets.h"

#include "lib/Pack/PackReader.h"
#include "moert/Generated.h"
#include "runtime/api/Model.h"

#include "llvm/Support/Endian.h"

#include <cstring>

namespace moec::fuzz {

namespace {

/// Bits of the first byte: what is mended.
enum Mend : uint8_t { kHeader = 1, kDirectory = 2, kTables = 4, kRecords = 8 };

/// Larger packs cost more than an input is worth.
constexpr uint64_t kMaxBytes = 256 << 10;

/// The bytes of the pack that an input stands for; everything is bounded by kMaxBytes.
class Pack {
public:
  explicit Pack(Bytes input) : mends(input.empty() ? 0 : input.front()) {
    Bytes rest = input.drop_front(input.empty() ? 0 : 1);
    Bytes head = rest.take_front(sizeof(moepack_header)), tail = rest.drop_front(head.size());
    bytes.assign(head.begin(), head.end());
    if (head.size() < sizeof(moepack_header))
      return;
    std::memcpy(&header, head.data(), sizeof(header));
    isWhole = true;
    bytes.resize(MOEPACK_PAGE_BYTES);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    if (bytes.size() < header.total_bytes && header.total_bytes <= kMaxBytes)
      bytes.resize(header.total_bytes);
    mendAll();
  }

  std::string write() const {
    // Part 0 ends where its entry of the table says; what follows is part 1.
    uint64_t firstBytes = bytes.size();
    moepack_part first;
    if (isWhole && header.num_parts == 2 && inside(header.part_table_offset, sizeof(first))) {
      std::memcpy(&first, &bytes[header.part_table_offset], sizeof(first));
      firstBytes = std::min<uint64_t>(firstBytes, first.bytes);
    }
    llvm::StringRef all(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    writeScratch("model.moepack.1", all.drop_front(firstBytes));
    return writeScratch("model.moepack", all.take_front(firstBytes));
  }

  /// The records that lie in the file, at most 64.
  std::vector<moepack_record> records() const {
    std::vector<moepack_record> list;
    for (uint64_t i = 0; isWhole && i < std::min<uint64_t>(header.num_records, 64); ++i) {
      uint64_t at = MOEPACK_PAGE_BYTES + i * sizeof(moepack_record);
      if (!inside(at, sizeof(moepack_record)))
        break;
      std::memcpy(&list.emplace_back(), &bytes[at], sizeof(moepack_record));
    }
    return list;
  }

  moepack_header header{};
  bool isWhole = false;

private:
  bool inside(uint64_t offset, uint64_t size) const { return offset <= bytes.size() && size <= bytes.size() - offset; }
  Bytes slice(uint64_t offset, uint64_t size) const { return Bytes(bytes).slice(offset, size); }

  void mendAll() {
    uint64_t directoryBytes = header.num_records * sizeof(moepack_record);
    if ((mends & kRecords) && header.num_records <= 64 && inside(header.directory_offset, directoryBytes))
      for (uint64_t i = 0; i < header.num_records; ++i)
        mendRecord(header.directory_offset + i * sizeof(moepack_record));
    if ((mends & kDirectory) && header.num_records <= kMaxBytes && inside(header.directory_offset, directoryBytes))
      std::memcpy(header.weights_id, hash128(slice(header.directory_offset, directoryBytes)).toBytes().data(), 16);
    if (mends & kTables)
      mendTables();
    if (mends & kHeader) {
      Bytes start(reinterpret_cast<const uint8_t *>(&header), offsetof(moepack_header, header_checksum));
      header.header_checksum = hash64(start);
    }
    std::memcpy(bytes.data(), &header, sizeof(header));
  }

  void mendRecord(uint64_t at) {
    moepack_record record;
    std::memcpy(&record, &bytes[at], sizeof(record));
    if (inside(record.offset, record.bytes))
      record.checksum = hash64(slice(record.offset, record.bytes));
    std::memcpy(&bytes[at], &record, sizeof(record));
  }

  void mendTables() {
    uint64_t partBytes = uint64_t(header.num_parts) * sizeof(moepack_part);
    if (header.tensor_table_bytes < kTableChecksumBytes ||
        !inside(header.tensor_table_offset, header.tensor_table_bytes) || !inside(header.part_table_offset, partBytes))
      return;
    uint64_t textBytes = header.tensor_table_bytes - kTableChecksumBytes;
    Bytes text = slice(header.tensor_table_offset, textBytes);
    std::string line = writeTableChecksum(llvm::StringRef(reinterpret_cast<const char *>(text.data()), text.size()),
                                          slice(header.part_table_offset, partBytes));
    std::memcpy(&bytes[header.tensor_table_offset + textBytes], line.data(), line.size());
  }

  uint8_t mends;
  std::vector<uint8_t> bytes;
};

void readWithCompiler(const std::string &path) {
  llvm::Expected<PackReader> pack = PackReader::open(path);
  if (!pack)
    return expectMessage(pack.takeError());
  PackVerifyOptions options;
  options.numThreads = 1;
  for (const std::string &fault : pack->verify(options).faults)
    expect(!fault.empty() && fault.find('\n') == std::string::npos, "a fault has no message of one line");
  for (size_t i = 0; i < std::min<size_t>(pack->tensors().size(), 16); ++i)
    expectMessage(pack->readTensor(i).takeError());
}

int32_t doNothing(moert_context *) { return 0; }

/// A model to which the pack may belong: its numbers are taken from the pack where the runtime compares them.
void readWithRuntime(const Pack &pack, const std::string &path) {
  constexpr uint32_t kLayers = 4, kExperts = 4;
  moert_model_descriptor d{};
  std::memcpy(d.magic, "MOERTMDL", 8);
  d.abi_version = MOERT_GENERATED_ABI_VERSION;
  d.struct_bytes = sizeof(d);
  d.layout_family = pack.header.layout_family;
  d.model_name = d.target_name = "fuzz";
  std::memcpy(d.plan_id, pack.header.plan_id, 16);
  std::memcpy(d.weights_id, pack.header.weights_id, 16);
  d.vocab_size = d.hidden_size = d.max_chunk = d.head_rows = 1;
  d.num_layers = kLayers;
  d.num_experts = kExperts;
  d.top_k = 1;
  d.context = 64;
  d.hidden_offset = 0;
  d.logits_offset = 64;
  d.plan = {128, pack.header.resident_bytes, 64, 0, 0, 0, 1, 0};
  d.prefill = d.decode = d.head = doNothing;
  d.report_json = "{}";
  std::vector<moepack_record> records = pack.records();
  moert_streamed_table table{};
  for (uint32_t i = 0; i < records.size(); ++i) {
    const moepack_record &record = records[i];
    if (record.kind == MOEPACK_RECORD_EXPERT && d.plan.num_expert_records < kLayers * kExperts) {
      ++d.plan.num_expert_records;
      uint64_t pages = std::clamp<uint64_t>(record.bytes / MOEPACK_PAGE_BYTES, 1, kMaxBytes / MOEPACK_PAGE_BYTES);
      d.plan.record_bytes = std::max(d.plan.record_bytes, pages * MOEPACK_PAGE_BYTES);
    } else if (record.kind == MOEPACK_RECORD_ROWS && !d.num_streamed_tables) {
      d.num_streamed_tables = 1;
      table = {i, static_cast<uint32_t>(record.row_bytes), record.bytes / (record.row_bytes / 2 * 2 + 8)};
    }
  }
  d.streamed_tables = &table;
  moert_open_options options{};
  options.struct_bytes = sizeof(options);
  options.pack_path = path.c_str();
  options.threads = options.reader_lanes = 1;
  options.budget_bytes = 64 << 20;
  moert::Hooks hooks{};
  hooks.checkStates = true;
  moert_model *model = nullptr;
  moert_error error{};
  moert_status status = moert::openModel(d, &options, hooks, &model, &error);
  expect((status == MOERT_STATUS_OK) == (model != nullptr), "the runtime's open disagrees with itself");
  expect(status == MOERT_STATUS_OK || error.message[0], "the runtime gives no message");
  expect(status != MOERT_STATUS_INTERNAL, "the runtime reports an internal error");
  moert::closeModel(model);
}

} // namespace

void fuzzPack(Bytes input) {
  Pack pack(input);
  std::string path = pack.write();
  readWithCompiler(path);
  if (pack.isWhole && pack.header.resident_bytes <= kMaxBytes)
    readWithRuntime(pack, path);
}

} // namespace moec::fuzz
