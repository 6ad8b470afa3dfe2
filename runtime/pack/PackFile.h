// SPDX-License-Identifier: Apache-2.0
/// \file
/// The weight pack of an open model: its files, its header, and reads that retry, cross parts and name what failed.
/// Main source: include/moert/PackFormat.h.
#ifndef RUNTIME_PACK_PACKFILE_H
#define RUNTIME_PACK_PACKFILE_H

#include "moert/Generated.h"
#include "moert/PackFormat.h"
#include "moert/moert.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Hooks.h"

namespace moert {

inline constexpr uint32_t kMaxParts = 256;
inline constexpr unsigned kPathBytes = 480;

/// What a read may leave in the page cache.
enum class ReadMode : uint32_t {
  Cached, /// everything
  Once,   /// nothing: what was read through it is dropped
  Direct  /// nothing, and bypasses it where the pack is open for that
};

/// Zero-filled memory is a closed pack.
class PackFile {
public:
  struct Part {
    uint64_t start, bytes;
    int fd, directFd; /// directFd < 0: no direct reads
  };

  /// Opens part 0, checks the header against the descriptor, then opens the other parts and checks their sizes.
  moert_status open(const moert_model_descriptor &descriptor, const moert_open_options &options, const Hooks &hooks,
                    moert_error *error);
  /// Reads the directory through a buffer of `pieceBytes` and checks its hash, which is the weights id.
  moert_status checkDirectory(void *piece, uint64_t pieceBytes, moert_error *error) const;
  /// The second half of it, for who hashed all records in order.
  moert_status compareDirectory(Hash128 &hash, moert_error *error) const;
  /// Opens every part again for direct reads. False if one refuses or if expert records would not be aligned.
  bool openDirect();
  void closeDirect();
  bool isDirect() const { return numParts && parts[0].directFd >= 0; }
  void close();

  /// Reads exactly [offset, offset + sizeBytes) of the concatenation of all parts, or says what is missing. Goes on
  /// after short and interrupted reads; any other failure is tried once more, then through the page cache.
  moert_status read(uint64_t offset, void *destination, uint64_t sizeBytes, ReadMode mode, moert_error *error) const;
  /// Takes a range that lies in one part out of the page cache.
  void drop(uint64_t offset, uint64_t sizeBytes) const;
  const Part &partOf(uint64_t offset) const;
  /// Path of the part for messages; `text` holds kPathBytes + 16 bytes.
  const char *partName(const Part &part, char *text) const;

  moepack_header header;

private:
  moert_status openFirst(const moert_open_options &options, uint64_t &foundBytes, moert_error *error);
  moert_status checkHeader(const moert_model_descriptor &descriptor, uint64_t foundBytes, bool exactEnd,
                           moert_error *error) const;
  moert_status openParts(uint64_t foundBytes, moert_error *error);
  int64_t readPiece(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) const;

  Hooks hooks;
  Part parts[kMaxParts];
  uint32_t numParts;   /// parts that are open
  uint64_t baseOffset; /// of part 0 in its file
  bool ownsFirst, hasPath;
  char path[kPathBytes];
};

} // namespace moert
#endif
