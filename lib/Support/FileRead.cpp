// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading of files: pread in pieces, repeated after interruptions and short reads.
#include "lib/Support/Files.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moec {

// Several systems cap one read at 2 GiB; pieces of this size cost nothing and keep interruptions short.
constexpr size_t kPieceBytes = size_t(8) << 20;

llvm::Expected<RandomAccessFile> RandomAccessFile::open(llvm::StringRef path) {
  std::string name = path.str();
  int descriptor;
  do
    descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return systemFault("cannot open '" + path + "'", errno);
  RandomAccessFile file(std::move(name), descriptor, 0);
  struct stat facts;
  if (::fstat(descriptor, &facts) != 0)
    return systemFault("cannot read the size of '" + path + "'", errno);
  if (!S_ISREG(facts.st_mode))
    return fault("'" + path + "' is " + (S_ISDIR(facts.st_mode) ? "a folder" : "no regular file") + ", expects a file");
  file.size = static_cast<uint64_t>(facts.st_size);
  return std::move(file);
}

RandomAccessFile::RandomAccessFile(RandomAccessFile &&other) noexcept
    : filePath(std::move(other.filePath)), descriptor(std::exchange(other.descriptor, -1)), size(other.size) {}

RandomAccessFile &RandomAccessFile::operator=(RandomAccessFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(descriptor, other.descriptor);
  std::swap(size, other.size);
  return *this;
}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

llvm::Error RandomAccessFile::read(uint64_t offsetBytes, llvm::MutableArrayRef<uint8_t> bytes) const {
  size_t done = 0;
  if (offsetBytes > static_cast<uint64_t>(INT64_MAX) - bytes.size())
    return fault("'" + filePath + "': offset " + llvm::Twine(offsetBytes) + " is beyond every file");
  while (done < bytes.size()) {
    size_t piece = std::min(kPieceBytes, bytes.size() - done);
    ssize_t got = ::pread(descriptor, bytes.data() + done, piece, static_cast<off_t>(offsetBytes + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemFault("cannot read '" + filePath + "' at " + llvm::Twine(offsetBytes + done), errno);
    if (got == 0)
      return fault("'" + filePath + "' is truncated: found " + llvm::Twine(done) + " bytes at offset " +
                   llvm::Twine(offsetBytes) + ", needs " + llvm::Twine(bytes.size()));
    done += static_cast<size_t>(got);
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> readTextFile(llvm::StringRef path, uint64_t maxBytes) {
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  if (file->sizeBytes() > maxBytes)
    return fault("'" + path + "' has " + formatSizeExact(file->sizeBytes()) + ", expects at most " +
                 formatSizeExact(maxBytes));
  std::string text(static_cast<size_t>(file->sizeBytes()), '\0');
  if (llvm::Error error = file->read(0, {reinterpret_cast<uint8_t *>(text.data()), text.size()}))
    return std::move(error);
  return std::move(text);
}

} // namespace moec
