// SPDX-License-Identifier: Apache-2.0
/// \file
/// Outputs that appear together. Older files are kept by a second name (a hard link, where links do not work a rename)
/// until every new one has its place.
#include "lib/Support/Files.h"

#include "lib/Support/Fault.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace moec {

namespace {

/// One output that took its place.
struct Placed {
  std::string path;
  std::string backup; // empty: nothing had the name before
};

/// Gives what stands at `path` the second name `backup`. Returns false if nothing stands there.
llvm::Expected<bool> keepOld(const std::string &path, const std::string &backup) {
  if (llvm::sys::fs::is_directory(path))
    return fault("output '" + path + "' is a folder, expects a file or nothing");
  ::unlink(backup.c_str());
  if (::link(path.c_str(), backup.c_str()) == 0)
    return true;
  if (errno == ENOENT)
    return false;
  if (::rename(path.c_str(), backup.c_str()) == 0)
    return true;
  return systemFault("cannot keep the older '" + path + "' while it is replaced", errno);
}

void takeBack(llvm::ArrayRef<Placed> placed) {
  for (const Placed &output : placed)
    if (output.backup.empty())
      ::unlink(output.path.c_str());
    else
      ::rename(output.backup.c_str(), output.path.c_str());
}

} // namespace

llvm::Expected<OutputFile *> OutputTransaction::add(llvm::StringRef path) {
  for (const auto &file : files)
    if (file->path() == path)
      return fault("output '" + path + "' is named twice");
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  files.push_back(std::make_unique<OutputFile>(std::move(*file)));
  return files.back().get();
}

llvm::Error OutputTransaction::commit() {
  for (const auto &file : files)
    if (llvm::Error error = file->finish())
      return error;
  std::vector<Placed> placed;
  for (const auto &file : files) {
    Placed output{file->path(), file->temporaryPath() + ".old"};
    llvm::Expected<bool> hadOld = keepOld(output.path, output.backup);
    if (!hadOld) {
      takeBack(placed);
      return hadOld.takeError();
    }
    if (!*hadOld)
      output.backup.clear();
    if (llvm::Error error = file->commit()) {
      placed.push_back(output);
      takeBack(placed);
      return error;
    }
    placed.push_back(std::move(output));
  }
  for (const Placed &output : placed)
    if (!output.backup.empty())
      ::unlink(output.backup.c_str());
  files.clear();
  return llvm::Error::success();
}

} // namespace moec
