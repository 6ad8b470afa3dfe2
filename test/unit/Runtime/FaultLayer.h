// SPDX-License-Identifier: Apache-2.0
/// \file
/// The injected I/O and allocation layer: reads that fail in every way that a file system knows, requests for memory,
/// locks and threads that the system refuses, and what a run must leave behind: nothing.
#ifndef TEST_UNIT_RUNTIME_FAULTLAYER_H
#define TEST_UNIT_RUNTIME_FAULTLAYER_H

#include "FakeModel.h"
#include "runtime/base/Hooks.h"

#include <atomic>
#include <functional>

namespace fake {

/// What a read does in place of what was asked.
enum class ReadFault : uint32_t {
  None,
  Half,        /// answers with half of the bytes
  OneByte,     /// answers with one byte
  Interrupted, /// EINTR
  Again,       /// EAGAIN
  IoError,     /// EIO
  Ends,        /// the file ends here
  NotWritten,  /// success, but nothing was written (FUSE with direct reads)
  FlippedBit,
  Exchanged, /// two pieces as long as a directory entry have changed places
  Slow,      /// comes 2 ms late
  kCount
};
const char *nameOf(ReadFault fault);
const char *nameOf(moert::SystemRequest request);

inline constexpr uint64_t kAlways = UINT64_MAX / 2;
inline constexpr size_t kNumRequests = 6;

/// Everything is counted from 1 since `reset`. Thread-safe, but for `reset` and the functions.
class FaultLayer {
public:
  /// Reads `first` to `first + count - 1`.
  void injectReads(ReadFault fault, uint64_t first, uint64_t count = 1);
  /// The next `count` reads.
  void injectReadsNow(ReadFault fault, uint64_t count) { injectReads(fault, numReads + 1, count); }
  /// Requests `first` to `first + count - 1` of that kind.
  void refuse(moert::SystemRequest request, uint64_t first, uint64_t count = 1);
  void refuseNow(moert::SystemRequest request, uint64_t count);
  /// The n-th request to the ledger of a model that is opened from now on.
  void failRequest(uint64_t n) { ledgerRequest = n; }
  /// From now on everything succeeds.
  void clear();
  /// Forgets all counts, too.
  void reset();

  /// Reads of these files are served from memory from now on, so that a matrix of runs does not wait for the disk.
  void keepInMemory(const std::string &path);
  moert::Hooks hooks();
  moert_status open(const moert_open_options &options, moert_model **model, moert_error *error);

  /// Experts are read in pieces of this size; 0 = as in production.
  uint64_t pieceBytes = 0;
  std::atomic<uint64_t> numReads{0}, numInjected{0};
  std::atomic<uint64_t> numAsked[kNumRequests] = {};
  /// Address ranges that are reserved now, and what the ledger held when the last model was closed.
  std::atomic<int64_t> numRanges{0};
  std::atomic<uint64_t> bytesAtClose{UINT64_MAX};
  /// Called before each read, on its thread. An answer below 0 is the read's result.
  std::function<int64_t(int fd, uint64_t offset)> atRead;
  /// Called by `clear`: undoes what was done to files.
  std::function<void()> mend;

private:
  static int64_t read(void *self, int fd, void *destination, uint64_t sizeBytes, uint64_t offset);
  static bool allows(void *self, moert::SystemRequest request);
  static void closed(void *self, uint64_t ledgerBytes);
  ReadFault faultOf(uint64_t number);
  int64_t readFile(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) const;

  struct Image {
    uint64_t inode;
    std::vector<char> bytes;
  };
  std::vector<Image> images;

  std::atomic<uint64_t> firstRead{0}, countReads{0};
  std::atomic<ReadFault> readFault{ReadFault::None};
  std::atomic<uint64_t> firstRefused[kNumRequests] = {}, countRefused[kNumRequests] = {};
  std::atomic<uint64_t> ledgerRequest{0};
};

/// Descriptors and threads of this process.
struct Footprint {
  int files, threads;
  static Footprint now();
  /// Waits a moment for threads that were joined to disappear from /proc.
  void expectSame(const std::string &what) const;
};

} // namespace fake
#endif
