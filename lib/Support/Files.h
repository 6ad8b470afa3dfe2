// SPDX-License-Identifier: Apache-2.0
/// \file
/// Files that are read by offset, and outputs that appear whole or not at all.
#ifndef LIB_SUPPORT_FILES_H
#define LIB_SUPPORT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace moec {

/// A regular file opened for reading by offset.
///
/// Threads: `read` may be called by several threads at once.
class RandomAccessFile {
public:
  /// Errors: the path does not exist, is not a regular file, cannot be opened; the message has the path.
  static llvm::Expected<RandomAccessFile> open(llvm::StringRef path);

  RandomAccessFile(RandomAccessFile &&other) noexcept;
  RandomAccessFile &operator=(RandomAccessFile &&other) noexcept;
  ~RandomAccessFile();

  const std::string &path() const { return filePath; }
  /// The size when it was opened.
  uint64_t sizeBytes() const { return size; }

  /// Fills `bytes` from `offsetBytes`, in pieces of at most 8 MiB.
  ///
  /// Errors: a read error; the file ends before; the message has path, offset, bytes found and needed.
  llvm::Error read(uint64_t offsetBytes, llvm::MutableArrayRef<uint8_t> bytes) const;

private:
  RandomAccessFile(std::string path, int descriptor, uint64_t size)
      : filePath(std::move(path)), descriptor(descriptor), size(size) {}

  std::string filePath;
  int descriptor;
  uint64_t size;
};

/// Reads a whole file. Errors: as for RandomAccessFile::open; larger than `maxBytes`.
llvm::Expected<std::string> readTextFile(llvm::StringRef path, uint64_t maxBytes);

/// Writes out what stands in llvm::outs(); a program calls it before it ends. Error: stdout refuses it, as on a full
/// disk.
llvm::Error flushStandardOutput();

/// A file that is written under a temporary name in its own folder and takes its real name at `commit`. Destroyed
/// before that, it leaves nothing behind and what had the name stays.
///
/// States: open (create; write, writeAt) -> finished (finish: synced and closed) -> committed (commit).
/// Threads: `writeAt` may be called by several threads at once, everything else by one.
class OutputFile {
public:
  /// Errors: the folder does not exist or is not writable, the path is a folder, a device or a pipe; the message has
  /// the path.
  static llvm::Expected<OutputFile> create(llvm::StringRef path);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  const std::string &path() const { return finalPath; }
  /// For a program that writes by path (a linker). It may replace the file; `finish` syncs whatever is there.
  const std::string &temporaryPath() const { return workPath; }
  /// How many bytes `write` has written.
  uint64_t offsetBytes() const { return position; }

  /// Appends behind the last `write`.
  llvm::Error write(llvm::ArrayRef<uint8_t> bytes);
  llvm::Error write(llvm::StringRef text) { return write(llvm::ArrayRef(text.bytes_begin(), text.size())); }
  /// Writes at an offset; does not move where `write` appends.
  llvm::Error writeAt(uint64_t offsetBytes, llvm::ArrayRef<uint8_t> bytes);

  /// Brings the content to the disk; nothing is written afterwards. Calling it again does nothing.
  llvm::Error finish();
  /// Finishes and gives the file its real name, replacing an older one.
  llvm::Error commit();

private:
  friend class OutputTransaction;
  OutputFile(std::string finalPath, std::string workPath, int descriptor)
      : finalPath(std::move(finalPath)), workPath(std::move(workPath)), descriptor(descriptor) {}

  std::string finalPath;
  std::string workPath; // empty once committed or moved from
  int descriptor;       // -1 once finished
  uint64_t position = 0;
};

/// Outputs that appear together or not at all.
///
/// `commit` finishes every file, then renames them one after the other. If one fails, those before it are taken back:
/// older files of the same names return. A process killed in between may leave a mixture of whole files, never half a
/// file.
class OutputTransaction {
public:
  /// Adds an output; the result belongs to the transaction and lives as long. Errors: as OutputFile::create; the path
  /// is already an output.
  llvm::Expected<OutputFile *> add(llvm::StringRef path);

  llvm::Error commit();

private:
  std::vector<std::unique_ptr<OutputFile>> files;
};

} // namespace moec
#endif
