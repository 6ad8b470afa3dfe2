// SPDX-License-Identifier: Apache-2.0
/// \file
/// Opens packs that others wrote: checks their structure, verifies every byte, lists and dequantizes tensors. For
/// tools, tests and the interpreter; the runtime has its own reader. Main source: docs/pack-format.md.
#ifndef LIB_PACK_PACKREADER_H
#define LIB_PACK_PACKREADER_H

#include "lib/Pack/Layout.h"
#include "lib/Pack/TensorTable.h"
#include "lib/Support/Files.h"
#include "lib/Support/Hash.h"
#include "moert/PackFormat.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace moec {

struct PackVerifyOptions {
  unsigned numThreads = 0; ///< 0: as many as the machine has
  /// Told after each piece, by any thread, one at a time: bytes checked and bytes of the pack.
  std::function<void(uint64_t doneBytes, uint64_t totalBytes)> progress;
};

struct PackVerifyResult {
  uint64_t numRecords = 0, numBytes = 0; ///< checked
  /// One text for each fault, in the order of the pack; empty: every bit is as it was written.
  std::vector<std::string> faults;
};

/// An open pack whose structure is sound: everything in it lies where the header, the directory and the tables say.
/// Threads: const functions may be called by several threads.
class PackReader {
public:
  /// Reads and checks header, directory and tables, and the sizes of all parts; no weights.
  ///
  /// Errors, each with the file: truncated (bytes found and needed), no pack, other version, damaged header, directory
  /// or tables, a record or tensor that lies where it must not, a part that is missing or has another size.
  static llvm::Expected<PackReader> open(llvm::StringRef path);

  const std::string &path() const { return files.front().path(); }
  const moepack_header &header() const { return packHeader; }
  LayoutFamily family() const { return static_cast<LayoutFamily>(packHeader.layout_family); }
  Digest128 planId() const;
  Digest128 weightsId() const;
  llvm::ArrayRef<moepack_record> records() const { return recordList; }
  llvm::ArrayRef<moepack_part> parts() const { return partList; }
  llvm::ArrayRef<TensorEntry> tensors() const { return tensorList; }
  /// The file that holds byte `offset`, and where in it.
  std::pair<const RandomAccessFile *, uint64_t> locate(uint64_t offset) const;
  /// For messages: "expert 3 of layer 1 ('name', 'name', 'name')", "resident tensor 'name'", "row table 'name'".
  std::string describe(size_t record) const;

  /// Compares every byte with the checksums: records, rows of tables, and zeros between them.
  /// Memory: 4 MiB for each thread. Errors: none; faults, also of reading, are part of the result.
  PackVerifyResult verify(const PackVerifyOptions &options = {}) const;

  /// The values of tensor number `tensor`, row-major. Memory: the whole tensor, stored and as f32.
  llvm::Expected<std::vector<float>> readTensor(size_t tensor) const;
  /// The number of the tensor called `name`, or nothing.
  std::optional<size_t> findTensor(llvm::StringRef name) const;

private:
  PackReader() = default;
  // PackReader.cpp
  llvm::Error readHeader();
  llvm::Error readTables();
  llvm::Error openParts();
  llvm::Error readBytes(uint64_t offset, llvm::MutableArrayRef<uint8_t> bytes) const;
  // PackStructure.cpp
  llvm::Error checkHeader() const;
  llvm::Error checkParts() const;
  llvm::Error checkRecords() const;
  llvm::Error checkRecord(size_t index) const;
  llvm::Error checkTensors();
  llvm::Error damaged(const llvm::Twine &text) const;
  // PackVerify.cpp
  friend class PackVerifier;

  std::vector<RandomAccessFile> files;
  moepack_header packHeader{};
  std::vector<moepack_record> recordList;
  std::vector<moepack_part> partList;
  std::vector<TensorEntry> tensorList;
  std::vector<std::vector<size_t>> tensorsOf; ///< of each record
};

} // namespace moec

#endif
