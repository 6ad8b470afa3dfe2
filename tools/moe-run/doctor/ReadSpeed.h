// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measures how fast a file can be read, past the page cache where the file system allows it.
#ifndef TOOLS_MOE_RUN_DOCTOR_READSPEED_H
#define TOOLS_MOE_RUN_DOCTOR_READSPEED_H

#include <stdint.h>

namespace moerun {

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
