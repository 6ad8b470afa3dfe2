// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the targets share: files for readers that open a path, and checks that end the process.
#include "test/fuzz/Targets.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace moec::fuzz {

namespace {

struct Folder {
  Folder() {
    llvm::SmallString<128> made;
    expect(!llvm::sys::fs::createUniqueDirectory("moec-fuzz", made), "cannot make a temporary folder");
    path = made.str().str();
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string path;
};

} // namespace

const std::string &scratchFolder() {
  static Folder folder;
  return folder.path;
}

std::string writeScratch(llvm::StringRef name, llvm::StringRef content, uint64_t sizeBytes) {
  std::string path = (scratchFolder() + "/" + name).str();
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = descriptor >= 0;
  for (size_t done = 0; written && done < content.size();) {
    ssize_t put = ::write(descriptor, content.data() + done, content.size() - done);
    written = put > 0;
    done += written ? static_cast<size_t>(put) : 0;
  }
  if (written && sizeBytes > content.size())
    written = ::ftruncate(descriptor, static_cast<off_t>(sizeBytes)) == 0;
  ::close(descriptor);
  expect(written, "cannot write a temporary file");
  return path;
}

std::pair<llvm::StringRef, llvm::StringRef> splitAtZero(Bytes input) {
  return llvm::StringRef(reinterpret_cast<const char *>(input.data()), input.size()).split('\0');
}

void expectMessage(llvm::Error error) {
  if (!error)
    return;
  std::string text = llvm::toString(std::move(error));
  expect(!text.empty() && text.back() != '\n', "an error has no message, or one that ends with a line break");
}

void expect(bool condition, const char *text) {
  if (condition)
    return;
  std::fprintf(stderr, "fuzz: %s\n", text);
  std::abort();
}

} // namespace moec::fuzz
