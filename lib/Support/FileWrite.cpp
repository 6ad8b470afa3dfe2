// SPDX-License-Identifier: Apache-2.0
/// \file
/// Outputs under a temporary name.
#include "lib/Support/Files.h"

#include "lib/Support/Fault.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace moec {

namespace {

std::string folderOf(llvm::StringRef path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

llvm::Error syncPath(const std::string &path, int flags) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0)
    return systemFault("cannot open '" + path + "'", errno);
  int result = ::fsync(descriptor);
  int number = errno;
  ::close(descriptor);
  // Some file systems cannot sync a folder; their renames are as durable as they get.
  if (result != 0 && number != EINVAL && number != EROFS)
    return systemFault("cannot write '" + path + "' to the disk", number);
  return llvm::Error::success();
}

} // namespace

llvm::Error flushStandardOutput() {
  llvm::outs().flush();
  std::error_code code = llvm::outs().error();
  if (!code)
    return llvm::Error::success();
  llvm::outs().clear_error(); // or its destructor ends the process with a message of LLVM
  return fault("cannot write to stdout: " + code.message());
}

llvm::Expected<OutputFile> OutputFile::create(llvm::StringRef path) {
  std::string folder = folderOf(path);
  llvm::sys::fs::file_status status;
  if (llvm::sys::path::filename(path).empty() || path.ends_with("/"))
    return fault("output '" + path + "' has no file name");
  if (std::error_code code = llvm::sys::fs::status(folder, status))
    return fault("output folder '" + folder + "' cannot be used: " + code.message());
  if (status.type() != llvm::sys::fs::file_type::directory_file)
    return fault("output folder '" + folder + "' is a file, expects a folder");
  if (llvm::sys::fs::is_directory(path))
    return fault("output '" + path + "' is a folder, expects a file or nothing");
  // The final rename would take the place of a device or a pipe for good.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return fault("output '" + path + "' is a device or a pipe, expects a file or nothing");
  // A counter and the process id make the name unique; O_EXCL refuses what an earlier process left.
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    std::string work = (folder + "/." + llvm::sys::path::filename(path) + ".partial-" + llvm::Twine(::getpid()) + "-" +
                        llvm::Twine(attempt))
                           .str();
    int descriptor = ::open(work.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return OutputFile(path.str(), std::move(work), descriptor);
    if (errno != EEXIST && errno != EINTR)
      return systemFault("cannot write into output folder '" + folder + "'", errno);
  }
  return fault("output folder '" + folder + "' is full of unfinished files named '." + llvm::sys::path::filename(path) +
               ".partial-*'; remove them");
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : finalPath(std::move(other.finalPath)), workPath(std::exchange(other.workPath, {})),
      descriptor(std::exchange(other.descriptor, -1)), position(other.position) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    ::close(descriptor);
  if (!workPath.empty())
    ::unlink(workPath.c_str());
}

llvm::Error OutputFile::write(llvm::ArrayRef<uint8_t> bytes) {
  if (llvm::Error error = writeAt(position, bytes))
    return error;
  position += bytes.size();
  return llvm::Error::success();
}

llvm::Error OutputFile::writeAt(uint64_t offsetBytes, llvm::ArrayRef<uint8_t> bytes) {
  if (descriptor < 0)
    return fault("cannot write '" + finalPath + "': it is finished");
  if (offsetBytes > static_cast<uint64_t>(INT64_MAX) - bytes.size())
    return fault("cannot write '" + finalPath + "': offset " + llvm::Twine(offsetBytes) + " is beyond every file");
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put =
        ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offsetBytes + done));
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return systemFault("cannot write '" + finalPath + "' at " + llvm::Twine(offsetBytes + done),
                         put < 0 ? errno : ENOSPC);
    done += static_cast<size_t>(put);
  }
  return llvm::Error::success();
}

llvm::Error OutputFile::finish() {
  if (descriptor < 0)
    return llvm::Error::success();
  ::close(std::exchange(descriptor, -1));
  // By path: a linker may have put another file in its place.
  return syncPath(workPath, 0);
}

llvm::Error OutputFile::commit() {
  if (workPath.empty())
    return fault("output '" + finalPath + "' is committed already");
  if (llvm::Error error = finish())
    return error;
  if (::rename(workPath.c_str(), finalPath.c_str()) != 0)
    return systemFault("cannot rename '" + workPath + "' to '" + finalPath + "'", errno);
  workPath.clear();
  return syncPath(folderOf(finalPath), O_DIRECTORY);
}

} // namespace moec
