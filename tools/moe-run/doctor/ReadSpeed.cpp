// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loop over requests.
#include "tools/moe-run/doctor/ReadSpeed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

namespace moerun {

static uint64_t nowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

namespace {

/// What a loop over requests needs.
struct Reader {
  int file;
  void *buffer;
  FileRange range;
  uint64_t requestBytes, limitBytes;
};

} // namespace

/// False if the first request fails: then another way of opening is tried.
static bool readLoop(const Reader &reader, bool random, ReadSpeed &speed) {
  constexpr uint64_t kUnit = 16384, kLimitNs = 10000000000u;
  uint64_t places = (reader.range.sizeBytes - reader.requestBytes) / kUnit + 1, state = 0x9E3779B97F4A7C15u,
           requests = 0;
  uint64_t start = nowNs(), elapsed = 0;
  for (uint64_t offset = 0; speed.bytes < reader.limitBytes && elapsed < kLimitNs; ++requests) {
    if (random) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      offset = state % places * kUnit;
    } else if (offset > reader.range.sizeBytes - reader.requestBytes) {
      break;
    }
    ssize_t got =
        pread(reader.file, reader.buffer, reader.requestBytes, static_cast<off_t>(reader.range.start + offset));
    elapsed = nowNs() - start;
    if (got < 0 && errno == EINTR)
      continue;
    if (got != static_cast<ssize_t>(reader.requestBytes)) {
      if (requests == 0)
        return false;
      break;
    }
    speed.bytes += reader.requestBytes;
    offset += reader.requestBytes;
  }
  if (requests == 0 || elapsed == 0)
    return false;
  speed.isKnown = true;
  speed.rateMBps = static_cast<double>(speed.bytes) * 1e3 / static_cast<double>(elapsed);
  speed.requestMs = static_cast<double>(elapsed) / 1e6 / static_cast<double>(requests);
  return true;
}

ReadSpeed measureReads(const char *path, FileRange range, uint64_t requestBytes, uint64_t limitBytes, bool random) {
  constexpr uint64_t kUnit = 16384;
  ReadSpeed speed = {};
  speed.requestBytes = requestBytes;
  Reader reader = {-1, nullptr, range, requestBytes, limitBytes};
  if (requestBytes == 0 || requestBytes % kUnit != 0 || range.sizeBytes < requestBytes ||
      posix_memalign(&reader.buffer, kUnit, requestBytes) != 0)
    return speed;
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool direct = attempt == 0;
    reader.file = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (reader.file < 0)
      continue;
    speed.bytes = 0;
    bool isDone = readLoop(reader, random, speed);
    close(reader.file);
    speed.isDirect = direct;
    if (isDone)
      break;
  }
  free(reader.buffer);
  return speed;
}

} // namespace moerun
