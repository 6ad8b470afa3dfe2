// SPDX-License-Identifier: Apache-2.0
/// \file
/// The hooks of the injected layer.
#include "FaultLayer.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace fake;

//===--- names ----------------------------------------------------------------------------------------------------===//

const char *fake::nameOf(ReadFault fault) {
  static const char *const kNames[] = {
      "none", "half",        "one byte",    "interrupted", "again", "input/output error",
      "ends", "not written", "flipped bit", "exchanged",   "slow"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<size_t>(ReadFault::kCount));
  return kNames[static_cast<size_t>(fault)];
}

const char *fake::nameOf(moert::SystemRequest request) {
  static const char *const kNames[] = {"reserve", "commit", "decommit", "lock", "thread", "release"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kNumRequests);
  return kNames[static_cast<size_t>(request)];
}

//===--- what is injected -----------------------------------------------------------------------------------------===//

void FaultLayer::injectReads(ReadFault fault, uint64_t first, uint64_t count) {
  readFault = fault;
  firstRead = first;
  countReads = count;
}

void FaultLayer::refuse(moert::SystemRequest request, uint64_t first, uint64_t count) {
  size_t index = static_cast<size_t>(request);
  firstRefused[index] = first;
  countRefused[index] = count;
}

void FaultLayer::refuseNow(moert::SystemRequest request, uint64_t count) {
  refuse(request, numAsked[static_cast<size_t>(request)] + 1, count);
}

void FaultLayer::clear() {
  countReads = 0;
  for (auto &count : countRefused)
    count = 0;
  ledgerRequest = 0;
  if (mend)
    mend();
}

void FaultLayer::reset() {
  mend = nullptr;
  clear();
  numReads = numInjected = 0;
  for (auto &count : numAsked)
    count = 0;
  bytesAtClose = UINT64_MAX;
  atRead = nullptr;
}

//===--- hooks ----------------------------------------------------------------------------------------------------===//

moert::Hooks FaultLayer::hooks() {
  moert::Hooks result = {read, this, ledgerRequest, true, allows, closed};
  result.pieceBytes = pieceBytes;
  return result;
}

moert_status FaultLayer::open(const moert_open_options &options, moert_model **model, moert_error *error) {
  return moert::openModel(moert_model_v1, &options, hooks(), model, error);
}

ReadFault FaultLayer::faultOf(uint64_t number) {
  uint64_t first = firstRead;
  if (number < first || number - first >= countReads)
    return ReadFault::None;
  ++numInjected;
  return readFault;
}

static void exchangePieces(uint8_t *bytes, size_t count) {
  constexpr size_t kEntry = sizeof(moepack_record), kNames = 12; // kind, layer and expert
  if (count >= 4 * kEntry)
    std::swap_ranges(bytes + 2 * kEntry, bytes + 2 * kEntry + kNames, bytes + 3 * kEntry);
}

int64_t FaultLayer::read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
  auto &self = *static_cast<FaultLayer *>(user);
  auto *bytes = static_cast<uint8_t *>(destination);
  uint64_t number = ++self.numReads;
  if (int64_t answer = self.atRead ? self.atRead(fd, offset) : 0) {
    ++self.numInjected;
    return answer;
  }
  ReadFault fault = self.faultOf(number);
  switch (fault) {
  case ReadFault::Interrupted:
    return -EINTR;
  case ReadFault::Again:
    return -EAGAIN;
  case ReadFault::IoError:
    return -EIO;
  case ReadFault::Ends:
    return 0;
  case ReadFault::NotWritten:
    return static_cast<int64_t>(sizeBytes);
  case ReadFault::Slow:
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    break;
  default:
    break;
  }
  int64_t got = self.readFile(fd, destination, sizeBytes, offset);
  if (got <= 0)
    return got;
  if (fault == ReadFault::Half && got > 1)
    return got / 2;
  if (fault == ReadFault::OneByte)
    return 1;
  if (fault == ReadFault::FlippedBit)
    bytes[number * 7919 % static_cast<uint64_t>(got)] ^= static_cast<uint8_t>(1u << number % 8);
  if (fault == ReadFault::Exchanged)
    exchangePieces(bytes, static_cast<size_t>(got));
  return got;
}

static uint64_t inodeOf(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

void FaultLayer::keepInMemory(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0) << path;
  uint64_t inode = inodeOf(fd);
  bool isKnown = std::any_of(images.begin(), images.end(), [&](const Image &image) { return image.inode == inode; });
  if (!isKnown) {
    std::vector<char> bytes(std::filesystem::file_size(path));
    EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    images.push_back({inode, std::move(bytes)});
  }
  close(fd);
}

int64_t FaultLayer::readFile(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) const {
  for (uint64_t inode = images.empty() ? 0 : inodeOf(fd); const Image &image : images)
    if (image.inode == inode) {
      uint64_t bytes = offset < image.bytes.size() ? std::min(sizeBytes, image.bytes.size() - offset) : 0;
      memcpy(destination, image.bytes.data() + offset, bytes);
      return static_cast<int64_t>(bytes);
    }
  ssize_t got = pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  return got < 0 ? -errno : got;
}

bool FaultLayer::allows(void *user, moert::SystemRequest request) {
  auto &self = *static_cast<FaultLayer *>(user);
  size_t index = static_cast<size_t>(request);
  uint64_t number = ++self.numAsked[index], first = self.firstRefused[index];
  bool refused = number >= first && number - first < self.countRefused[index];
  self.numInjected += refused;
  if (request == moert::SystemRequest::Reserve && !refused)
    ++self.numRanges;
  if (request == moert::SystemRequest::Release)
    --self.numRanges;
  return !refused;
}

void FaultLayer::closed(void *user, uint64_t ledgerBytes) {
  static_cast<FaultLayer *>(user)->bytesAtClose = ledgerBytes;
}

//===--- what is left behind --------------------------------------------------------------------------------------===//

static int countEntries(const char *folder) {
  int count = 0;
  for ([[maybe_unused]] auto &entry : std::filesystem::directory_iterator(folder))
    ++count;
  return count;
}

Footprint Footprint::now() {
  // A sanitizer starts a thread of its own beside the first one.
  static const bool hadThread = (std::thread([] {}).join(), true);
  static_cast<void>(hadThread);
  return {countEntries("/proc/self/fd"), countEntries("/proc/self/task")};
}

void Footprint::expectSame(const std::string &what) const {
  Footprint found = now();
  for (int i = 0; i < 10000 && found.threads > threads; ++i) {
    std::this_thread::yield();
    found = now();
  }
  EXPECT_EQ(found.files, files) << "descriptors: " << what;
  EXPECT_EQ(found.threads, threads) << "threads: " << what;
}
