// SPDX-License-Identifier: Apache-2.0
/// \file
/// Workers encode pieces out of order, the calling thread writes them in order and hashes what it writes. At most a few
/// pieces are in flight.
#include "lib/Pack/PackWriter.h"

#include "lib/Pack/PieceEncoder.h"
#include "lib/Support/Fault.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace moec {

llvm::Error TensorSource::readCodes(size_t tensor, int64_t, int64_t, llvm::MutableArrayRef<int8_t>,
                                    llvm::MutableArrayRef<uint16_t>) const {
  return fault("tensor " + llvm::Twine(tensor) + " of the pack has no codes");
}

namespace {

/// Encodes pieces on threads and hands them out in order.
///
/// Invariants, under `mutex`: (1) pieces [0, nextTaken) were taken by a worker; (2) `done` holds finished pieces that
/// were not handed out; (3) nextTaken <= numHandedOut + window.
class PieceQueue {
public:
  PieceQueue(const PackPlan &plan, const TensorSource &source, llvm::ArrayRef<PackPiece> pieces, unsigned numThreads)
      : plan(plan), source(source), pieces(pieces), window(2 * size_t(numThreads) + 1) {
    for (unsigned i = 0; i < numThreads; ++i)
      threads.emplace_back([this] { work(); });
  }

  ~PieceQueue() {
    {
      std::lock_guard lock(mutex);
      isStopping = true;
    }
    roomForMore.notify_all();
    for (std::thread &thread : threads)
      thread.join();
    for (auto &[index, piece] : done)
      llvm::consumeError(piece.takeError());
  }

  /// The bytes of the next piece; blocks until it is encoded.
  llvm::Expected<std::vector<uint8_t>> take() {
    std::unique_lock lock(mutex);
    pieceDone.wait(lock, [&] { return done.count(numHandedOut) != 0; });
    auto node = done.extract(numHandedOut++);
    lock.unlock();
    roomForMore.notify_all();
    return std::move(node.mapped());
  }

private:
  void work() {
    PieceEncoder encoder(plan, source);
    std::unique_lock lock(mutex);
    for (;;) {
      roomForMore.wait(lock,
                       [&] { return isStopping || nextTaken == pieces.size() || nextTaken < numHandedOut + window; });
      if (isStopping || nextTaken == pieces.size())
        return;
      size_t index = nextTaken++;
      lock.unlock();
      llvm::Expected<std::vector<uint8_t>> bytes = encoder.encode(pieces[index]);
      lock.lock();
      done.emplace(index, std::move(bytes));
      pieceDone.notify_all();
    }
  }

  const PackPlan &plan;
  const TensorSource &source;
  llvm::ArrayRef<PackPiece> pieces;
  const size_t window;
  std::mutex mutex;
  std::condition_variable roomForMore, pieceDone;
  std::map<size_t, llvm::Expected<std::vector<uint8_t>>> done;
  size_t nextTaken = 0, numHandedOut = 0;
  bool isStopping = false;
  std::vector<std::thread> threads;
};

/// The files of all parts as one stream that begins at the resident segment.
class PartStream {
public:
  PartStream(llvm::ArrayRef<moepack_part> parts, uint64_t begin) : parts(parts.begin(), parts.end()), position(begin) {}

  llvm::Error open(llvm::StringRef path, OutputTransaction &outputs) {
    for (size_t i = 0; i < parts.size(); ++i) {
      llvm::Expected<OutputFile *> file = outputs.add(i == 0 ? path.str() : (path + "." + llvm::Twine(i)).str());
      if (!file)
        return file.takeError();
      files.push_back(*file);
    }
    return llvm::Error::success();
  }

  llvm::Error append(llvm::ArrayRef<uint8_t> bytes) {
    while (!bytes.empty()) {
      if (position == parts[current].start + parts[current].bytes)
        finishPart();
      const moepack_part &part = parts[current];
      llvm::ArrayRef<uint8_t> piece = bytes.take_front(std::min(bytes.size(), part.start + part.bytes - position));
      if (llvm::Error error = files[current]->writeAt(position - part.start, piece))
        return error;
      hash->update(piece);
      position += piece.size();
      bytes = bytes.drop_front(piece.size());
    }
    return llvm::Error::success();
  }

  void finishPart() {
    std::array<uint8_t, 16> digest = hash->digest().toBytes();
    std::memcpy(parts[current].hash, digest.data(), digest.size());
    hash.emplace();
    ++current;
  }

  OutputFile &firstFile() { return *files.front(); }

  std::vector<moepack_part> parts; ///< hashes are set as parts are finished
  uint64_t position;

private:
  std::vector<OutputFile *> files;
  size_t current = 0;
  std::optional<Hash128> hash = Hash128();
};

/// Writes all records; keeps their checksums.
class RecordWriter {
public:
  RecordWriter(const PackPlan &plan, PartStream &stream, const PackWriteOptions &options)
      : plan(plan), stream(stream), options(options) {
    for (const PackRecord &record : plan.records())
      directory.push_back(record.record);
  }

  llvm::Error run(const TensorSource &source) {
    unsigned numThreads = options.numThreads ? options.numThreads : std::max(1u, std::thread::hardware_concurrency());
    std::vector<PackPiece> pieces = piecesOf(plan);
    PieceQueue queue(plan, source, pieces, numThreads);
    for (const PackPiece &piece : pieces) {
      llvm::Expected<std::vector<uint8_t>> bytes = queue.take();
      if (!bytes)
        return bytes.takeError();
      for (; current < piece.record; ++current)
        if (llvm::Error error = finishRecord())
          return error;
      if (llvm::Error error = padTo(piece.offset))
        return error;
      hash->update(*bytes);
      if (llvm::Error error = stream.append(*bytes))
        return error;
      if (options.progress)
        options.progress(stream.position, plan.header().total_bytes);
    }
    for (; current < directory.size(); ++current)
      if (llvm::Error error = finishRecord())
        return error;
    if (llvm::Error error = padTo(plan.header().total_bytes))
      return error;
    stream.finishPart();
    return llvm::Error::success();
  }

  std::vector<moepack_record> directory;

private:
  /// Zeros up to `offset`; they count for the record's checksum only inside of the record.
  llvm::Error padTo(uint64_t offset) {
    static constexpr uint8_t kZeros[MOEPACK_PAGE_BYTES] = {};
    while (stream.position < offset) {
      bool inRecord = current < directory.size() && stream.position >= directory[current].offset;
      llvm::ArrayRef<uint8_t> zeros(kZeros, std::min<uint64_t>(sizeof(kZeros), offset - stream.position));
      if (current < directory.size() && !inRecord)
        zeros = zeros.take_front(directory[current].offset - stream.position);
      if (inRecord)
        hash->update(zeros);
      if (llvm::Error error = stream.append(zeros))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error finishRecord() {
    moepack_record &record = directory[current];
    if (llvm::Error error = padTo(record.offset + record.bytes))
      return error;
    record.checksum = hash->digest64();
    hash.emplace();
    return llvm::Error::success();
  }

  const PackPlan &plan;
  PartStream &stream;
  const PackWriteOptions &options;
  size_t current = 0;                      ///< record that is being written
  std::optional<Hash128> hash = Hash128(); ///< of its bytes so far
};

template <typename T> llvm::ArrayRef<uint8_t> bytesOf(llvm::ArrayRef<T> values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
}

} // namespace

llvm::Expected<PackWriteResult> writePack(const PackPlan &plan, const TensorSource &source, llvm::StringRef path,
                                          OutputTransaction &outputs, const PackWriteOptions &options) {
  moepack_header header = plan.header();
  PartStream stream(plan.parts(), header.resident_offset);
  if (llvm::Error error = stream.open(path, outputs))
    return std::move(error);
  RecordWriter records(plan, stream, options);
  if (llvm::Error error = records.run(source))
    return std::move(error);

  // The tables, then the header: they hold the hashes of everything behind them.
  llvm::ArrayRef<uint8_t> directory = bytesOf(llvm::ArrayRef(records.directory));
  llvm::ArrayRef<uint8_t> partTable = bytesOf(llvm::ArrayRef(stream.parts));
  std::string tables = plan.tensorTable() + writeTableChecksum(plan.tensorTable(), partTable);
  PackWriteResult result{hash128(directory), header.total_bytes};
  std::array<uint8_t, 16> weightsId = result.weightsId.toBytes();
  std::memcpy(header.weights_id, weightsId.data(), weightsId.size());
  header.header_checksum =
      hash64(bytesOf(llvm::ArrayRef(header)).take_front(offsetof(moepack_header, header_checksum)));
  std::vector<uint8_t> front(header.resident_offset, 0);
  auto put = [&](uint64_t offset, llvm::ArrayRef<uint8_t> bytes) {
    std::memcpy(front.data() + offset, bytes.data(), bytes.size());
  };
  put(0, bytesOf(llvm::ArrayRef(header)));
  put(header.directory_offset, directory);
  put(header.tensor_table_offset, llvm::ArrayRef(reinterpret_cast<const uint8_t *>(tables.data()), tables.size()));
  put(header.part_table_offset, partTable);
  if (llvm::Error error = stream.firstFile().writeAt(0, front))
    return std::move(error);
  return result;
}

} // namespace moec
