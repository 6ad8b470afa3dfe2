// SPDX-License-Identifier: Apache-2.0
/// \file
/// Facts of the machine for --doctor, from /proc, /sys and system calls. What cannot be read is absent, never an error.
#ifndef TOOLS_MOE_RUN_DEVICE_H
#define TOOLS_MOE_RUN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

namespace moerun {

/// Reads at most capacity - 1 bytes and ends them with zero. False if the file cannot be read.
bool readSmallFile(const char *path, char *text, size_t capacity);
/// The whole number in a file. False if there is none.
bool readNumber(const char *path, int64_t *value);
/// The number behind `name` at the start of a line. False if the line is missing.
bool findField(const char *text, const char *name, uint64_t *value);

struct ThermalState {
  unsigned numZones;      // that could be read
  double hottestC;        // of those
  double margin;          // degrees below the nearest passive trip point; 1000 if none is known
  char hottest[48];       // type of the hottest zone
  char nearestToTrip[48]; // type of the zone of `margin`
};
ThermalState readThermal();

struct CoreState {
  unsigned numPossible; // directories cpu0, cpu1, ...
  unsigned numWithFrequency;
  char frequencies[128]; // "4 x 2.0 GHz, 3 x 2.8 GHz, 1 x 3.2 GHz"
};
CoreState readCores();

/// One way of reading a file.
struct ReadSpeed {
  bool isKnown;
  bool isDirect;    // past the page cache
  uint64_t bytes;   // read
  double rateMBps;  // 10^6 bytes per second
  double requestMs; // mean time of a request
  uint64_t requestBytes;
};
/// A part of a file.
struct FileRange {
  uint64_t start, sizeBytes;
};
/// Reads up to `limitBytes` of `range` in requests of `requestBytes` (a multiple of 16384), one after the other or at
/// random multiples of 16384 from its start, one request at a time. Stops after 10 s.
ReadSpeed measureReads(const char *path, FileRange range, uint64_t requestBytes, uint64_t limitBytes, bool random);

} // namespace moerun
#endif
