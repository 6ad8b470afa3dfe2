// SPDX-License-Identifier: Apache-2.0
/// \file
/// A folder of outputs under a temporary name.
#include "lib/Synth/CheckpointFolder.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Sizes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

using llvm::Error;

namespace moec {

namespace {

/// A folder that is removed with all its files unless `release` was called.
class WorkFolder {
public:
  explicit WorkFolder(std::string path) : path(std::move(path)) {}
  WorkFolder(WorkFolder &&other) noexcept : path(std::exchange(other.path, {})) {}
  ~WorkFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
  /// Errors: the parent does not exist or cannot be written.
  static llvm::Expected<WorkFolder> create(llvm::StringRef parent, llvm::StringRef name) {
    for (unsigned attempt = 0; attempt < 1000; ++attempt) {
      std::string path =
          (parent + "/." + name + ".partial-" + llvm::Twine(::getpid()) + "-" + llvm::Twine(attempt)).str();
      if (::mkdir(path.c_str(), 0777) == 0)
        return WorkFolder(std::move(path));
      if (errno != EEXIST)
        return systemFault("cannot write into output folder '" + parent + "'", errno);
    }
    return fault("output folder '" + parent + "' is full of unfinished folders named '." + name +
                 ".partial-*'; remove them");
  }
  void release() { path.clear(); }

  std::string path;
};

Error checkFree(llvm::StringRef folder) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(folder, status)) {
    if (code == std::errc::no_such_file_or_directory)
      return Error::success();
    return fault("output folder '" + folder + "' cannot be used: " + code.message());
  }
  if (status.type() != llvm::sys::fs::file_type::directory_file)
    return fault("output '" + folder + "' is a file, expects an empty folder or nothing");
  std::error_code code;
  llvm::sys::fs::directory_iterator first(folder, code), end;
  if (code)
    return fault("cannot list the folder '" + folder + "': " + code.message());
  if (first != end)
    return fault("output folder '" + folder + "' is not empty: it holds '" + llvm::sys::path::filename(first->path()) +
                 "'; expects an empty folder or nothing");
  return Error::success();
}

Error checkRoom(llvm::StringRef parent, uint64_t neededBytes) {
  llvm::ErrorOr<llvm::sys::fs::space_info> space = llvm::sys::fs::disk_space(parent);
  if (!space)
    return fault("output folder '" + parent + "' cannot be used: " + space.getError().message());
  if (space->available < neededBytes)
    return fault("the checkpoint needs " + formatSizeExact(neededBytes) + ", but '" + parent + "' has " +
                 formatSizeExact(space->available) + " free; choose another folder or a smaller model");
  return Error::success();
}

Error writeText(const std::string &folder, const TextFile &text) {
  auto file = OutputFile::create(folder + "/" + text.name);
  if (!file)
    return file.takeError();
  if (Error error = file->write(text.content))
    return error;
  return file->commit();
}

} // namespace

Error writeCheckpointFolder(const RandomCheckpoint &checkpoint, llvm::ArrayRef<TextFile> texts, llvm::StringRef folder,
                            const std::function<void(uint64_t done, uint64_t total)> &progress) {
  folder = folder.size() > 1 ? folder.rtrim('/') : folder;
  if (Error error = checkFree(folder))
    return error;
  std::string parent = llvm::sys::path::parent_path(folder).str();
  parent = parent.empty() ? "." : parent;
  uint64_t total = checkpoint.totalBytes(), done = 0;
  if (Error error = checkRoom(parent, total))
    return error;
  llvm::Expected<WorkFolder> work = WorkFolder::create(parent, llvm::sys::path::filename(folder));
  if (!work)
    return work.takeError();
  for (const TextFile &text : texts)
    if (Error error = writeText(work->path, text))
      return error;
  if (std::string index = checkpoint.indexJson(); !index.empty())
    if (Error error = writeText(work->path, {"model.safetensors.index.json", index + "\n"}))
      return error;
  for (size_t i = 0; i < checkpoint.files().size(); ++i) {
    auto file = OutputFile::create(work->path + "/" + checkpoint.files()[i].name);
    if (!file)
      return file.takeError();
    if (Error error = checkpoint.stream(i, [&](llvm::ArrayRef<uint8_t> bytes) {
          done += bytes.size();
          if (progress)
            progress(done, total);
          return file->write(bytes);
        }))
      return error;
    if (Error error = file->commit())
      return error;
  }
  // An empty folder of that name is replaced.
  if (::rename(work->path.c_str(), folder.str().c_str()) != 0)
    return systemFault("cannot rename '" + work->path + "' to '" + folder + "'", errno);
  work->release();
  return Error::success();
}

} // namespace moec
