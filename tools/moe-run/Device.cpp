// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads /proc and /sys (Linux kernel, Documentation/filesystems/proc.rst,
/// Documentation/ABI/testing/sysfs-class-thermal, sysfs-devices-system-cpu) and measures the storage.
#include "tools/moe-run/Device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace moerun {

bool readSmallFile(const char *path, char *text, size_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  text[0] = '\0';
  if (file < 0)
    return false;
  size_t size = 0;
  ssize_t got = 0;
  while (size < capacity - 1 && (got = read(file, text + size, capacity - 1 - size)) > 0)
    size += static_cast<size_t>(got);
  close(file);
  text[size] = '\0';
  return size != 0;
}

bool readNumber(const char *path, int64_t *value) {
  char text[64], *end = nullptr;
  if (!readSmallFile(path, text, sizeof(text)))
    return false;
  *value = strtoll(text, &end, 10);
  return end != text;
}

bool findField(const char *text, const char *name, uint64_t *value) {
  size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, length) != 0)
      continue;
    char *end = nullptr;
    *value = strtoull(line + length, &end, 10);
    return end != line + length;
  }
  return false;
}

//===--- heat and cores -------------------------------------------------------------------------------------------===//

/// The lowest passive trip point of a zone in degrees: there the kernel begins to slow down. 0 if there is none.
static double passiveTrip(unsigned zone) {
  double lowest = 0;
  for (unsigned i = 0; i < 12; ++i) {
    char path[96], type[32];
    int64_t milli = 0;
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/trip_point_%u_type", zone, i);
    if (!readSmallFile(path, type, sizeof(type)))
      break;
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/trip_point_%u_temp", zone, i);
    if (strncmp(type, "passive", 7) != 0 || !readNumber(path, &milli) || milli <= 0)
      continue;
    double degrees = static_cast<double>(milli) / 1000;
    lowest = lowest == 0 || degrees < lowest ? degrees : lowest;
  }
  return lowest;
}

ThermalState readThermal() {
  ThermalState state = {};
  state.margin = 1000;
  for (unsigned zone = 0; zone < 128; ++zone) {
    char path[96], type[48];
    int64_t milli = 0;
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/type", zone);
    bool exists = access(path, 0) == 0;
    if (!readSmallFile(path, type, sizeof(type)))
      snprintf(type, sizeof(type), "zone %u", zone);
    if (char *newline = strchr(type, '\n'))
      *newline = '\0';
    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%u/temp", zone);
    // Zones are numbered without gaps; sensors that are off answer with an error or a value that cannot be.
    if (!exists && zone > 0)
      break;
    double degrees = readNumber(path, &milli) ? static_cast<double>(milli) / 1000 : -1000;
    if (degrees < -40 || degrees > 150)
      continue;
    if (state.numZones++ == 0 || degrees > state.hottestC) {
      state.hottestC = degrees;
      memcpy(state.hottest, type, sizeof(type));
    }
    double trip = passiveTrip(zone);
    if (trip > 0 && trip - degrees < state.margin) {
      state.margin = trip - degrees;
      memcpy(state.nearestToTrip, type, sizeof(type));
    }
  }
  return state;
}

CoreState readCores() {
  CoreState state = {};
  int64_t kinds[8] = {};
  unsigned counts[8] = {}, numKinds = 0;
  for (unsigned cpu = 0; cpu < 256; ++cpu) {
    char path[96];
    int64_t kilohertz = 0;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u", cpu);
    if (access(path, 0) != 0)
      break;
    ++state.numPossible;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/cpuinfo_max_freq", cpu);
    if (!readNumber(path, &kilohertz))
      continue;
    ++state.numWithFrequency;
    unsigned kind = 0;
    while (kind < numKinds && kinds[kind] != kilohertz)
      ++kind;
    if (kind == 8)
      continue;
    numKinds += kind == numKinds;
    kinds[kind] = kilohertz;
    ++counts[kind];
  }
  size_t length = 0;
  for (unsigned kind = 0; kind < numKinds && length < sizeof(state.frequencies); ++kind) {
    int written = snprintf(state.frequencies + length, sizeof(state.frequencies) - length, "%s%u x %.2f GHz",
                           kind == 0 ? "" : ", ", counts[kind], static_cast<double>(kinds[kind]) / 1e6);
    length += written > 0 ? static_cast<size_t>(written) : 0;
  }
  return state;
}

//===--- storage --------------------------------------------------------------------------------------------------===//

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
