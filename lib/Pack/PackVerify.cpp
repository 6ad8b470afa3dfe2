// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compares every byte of a pack with what its checksums say, in parallel. What is no record must be zero, so that
/// together with the checks at open no bit of a pack can change unseen.
#include "lib/Pack/PackReader.h"
#include "lib/Pack/RowFormat.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace moec {

/// Bytes of one read, long enough for flash and disks.
static constexpr uint64_t kReadBytes = uint64_t(4) << 20;

class PackVerifier {
public:
  PackVerifier(const PackReader &pack, const PackVerifyOptions &options) : pack(pack), options(options) {
    const moepack_header &h = pack.header();
    addGap(sizeof(moepack_header), h.directory_offset);
    addGap(h.tensor_table_offset + h.tensor_table_bytes, h.part_table_offset);
    uint64_t end = h.part_table_offset + h.num_parts * sizeof(moepack_part);
    for (auto [index, record] : llvm::enumerate(pack.records())) {
      addGap(end, record.offset);
      ranges.push_back({record.offset, record.bytes, int64_t(index)});
      end = record.offset + record.bytes;
    }
    addGap(end, h.total_bytes);
    faultsOf.resize(ranges.size());
  }

  PackVerifyResult run() {
    unsigned numThreads = options.numThreads ? options.numThreads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < numThreads; ++i)
      threads.emplace_back([this] { work(); });
    for (std::thread &thread : threads)
      thread.join();
    PackVerifyResult result{pack.records().size(), pack.header().total_bytes, {}};
    for (std::string &text : faultsOf)
      if (!text.empty())
        result.faults.push_back(std::move(text));
    return result;
  }

private:
  /// A record, or bytes between records (record < 0).
  struct Range {
    uint64_t offset, bytes;
    int64_t record;
  };

  void addGap(uint64_t begin, uint64_t end) {
    // A gap may cross into the next part only at its end: split there.
    while (begin < end) {
      uint64_t stop = end;
      for (const moepack_part &part : pack.parts())
        if (part.start > begin)
          stop = std::min(stop, part.start);
      ranges.push_back({begin, stop - begin, -1});
      begin = stop;
    }
  }

  void work() {
    for (size_t i; (i = next.fetch_add(1)) < ranges.size();)
      faultsOf[i] = ranges[i].record < 0 ? checkGap(ranges[i]) : checkRecord(ranges[i]);
  }

  /// Reads a range piece by piece. Returns a fault of reading, or nothing.
  std::string readAll(const Range &range, llvm::function_ref<void(uint64_t, llvm::ArrayRef<uint8_t>)> visit) {
    std::vector<uint8_t> buffer(std::min(range.bytes, kReadBytes));
    for (uint64_t done = 0; done < range.bytes;) {
      llvm::MutableArrayRef<uint8_t> piece(buffer.data(), std::min(kReadBytes, range.bytes - done));
      if (llvm::Error error = pack.readBytes(range.offset + done, piece))
        return llvm::toString(std::move(error));
      visit(range.offset + done, piece);
      done += piece.size();
      report(piece.size());
    }
    return {};
  }

  std::string place(uint64_t offset) const {
    auto [file, inFile] = pack.locate(offset);
    return "at offset " + std::to_string(inFile) + " of '" + file->path() + "'";
  }

  std::string checkGap(const Range &range) {
    std::string text;
    std::string failure = readAll(range, [&](uint64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      const uint8_t *bad = llvm::find_if(bytes, [](uint8_t byte) { return byte != 0; });
      if (bad != bytes.end() && text.empty())
        text = "padding is damaged: found byte " + std::to_string(*bad) + " " + place(offset + (bad - bytes.begin())) +
               ", expected 0";
    });
    return failure.empty() ? text : failure;
  }

  std::string checkRecord(const Range &range) {
    const moepack_record &record = pack.records()[range.record];
    Hash128 hash;
    std::string failure = readAll(range, [&](uint64_t, llvm::ArrayRef<uint8_t> bytes) { hash.update(bytes); });
    if (!failure.empty())
      return failure;
    std::string name = pack.describe(range.record);
    if (hash.digest64() != record.checksum)
      return name + " is damaged: checksum of " + std::to_string(record.bytes) + " bytes " + place(record.offset) +
             " is " + toHex(hash.digest64()) + ", expected " + toHex(record.checksum) +
             (record.kind == MOEPACK_RECORD_ROWS ? checkRows(record) : "");
    return {};
  }

  /// The first row that does not match its own checksum, for the message.
  std::string checkRows(const moepack_record &record) {
    uint64_t stride = record.row_bytes + kRowChecksumBytes;
    std::vector<uint8_t> row(stride);
    for (uint64_t r = 0; r < record.bytes / stride; ++r) {
      if (llvm::Error error = pack.readBytes(record.offset + r * stride, row))
        return "; " + llvm::toString(std::move(error));
      uint64_t expected = llvm::support::endian::read64le(row.data() + record.row_bytes);
      if (moepack_row_checksum(hash64(llvm::ArrayRef(row).drop_back(kRowChecksumBytes)), pack.header().plan_id, r) !=
          expected)
        return "; the first damaged row is " + std::to_string(r);
    }
    return {};
  }

  void report(uint64_t bytes) {
    if (!options.progress)
      return;
    std::lock_guard lock(progressMutex);
    doneBytes += bytes;
    options.progress(doneBytes, pack.header().total_bytes);
  }

  const PackReader &pack;
  const PackVerifyOptions &options;
  std::vector<Range> ranges;
  std::vector<std::string> faultsOf; ///< of each range; each is written by one thread
  std::atomic<size_t> next = 0;
  std::mutex progressMutex;
  uint64_t doneBytes = 0;
};

PackVerifyResult PackReader::verify(const PackVerifyOptions &options) const {
  return PackVerifier(*this, options).run();
}

} // namespace moec
