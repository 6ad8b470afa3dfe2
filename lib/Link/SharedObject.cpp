// SPDX-License-Identifier: Apache-2.0
/// \file
/// Links the shared object of a model in process with lld. Main source: docs/architecture.md ("Platforms").
#include "lib/Link/SharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace moec {

static Error linkError(const Twine &text) {
  return createStringError(std::make_error_code(std::errc::invalid_argument), text);
}

namespace {

/// Takes what lld writes. Into a file lld writes through a mapping, which on a full disk is a bus error; a pipe it can
/// only write to.
class OutputPipe {
public:
  OutputPipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return;
    writeEnd = ends[1];
    reader = std::thread([this, readEnd = ends[0]] {
      char piece[1 << 16];
      for (ssize_t got; (got = ::read(readEnd, piece, sizeof(piece))) > 0 || (got < 0 && errno == EINTR);)
        content.append(piece, got > 0 ? static_cast<size_t>(got) : 0);
      ::close(readEnd);
    });
  }
  ~OutputPipe() { finish(); }
  OutputPipe(const OutputPipe &) = delete;
  OutputPipe &operator=(const OutputPipe &) = delete;

  bool isOpen() const { return writeEnd >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(writeEnd); }
  /// Everything that was written.
  const std::string &finish() {
    if (reader.joinable()) {
      ::close(writeEnd);
      reader.join();
    }
    return content;
  }

private:
  int writeEnd = -1;
  std::string content;
  std::thread reader;
};

/// Writes a file that may be run, as lld would.
Error writeLinked(StringRef content, const std::string &output) {
  std::error_code code;
  raw_fd_ostream stream(output, code);
  if (!code) {
    stream << content;
    stream.close();
    code = stream.error();
    stream.clear_error(); // or its destructor ends the process
  }
  if (!code) {
    // Whoever may read it may run it: moe-run of a run folder is linked here too.
    auto permissions = sys::fs::getPermissions(output);
    code = permissions ? sys::fs::setPermissions(output, *permissions | static_cast<sys::fs::perms>(
                                                                            (*permissions & sys::fs::all_read) >> 2))
                       : permissions.getError();
  }
  return code ? linkError("cannot write '" + output + "': " + code.message()) : Error::success();
}

} // namespace

/// The names that a model exports; all else is hidden, so that several models live in one process.
static constexpr StringRef kVersionScript = "{ global: moert_get_api; moert_model_v1; local: *; };\n";

/// What a library and a program have in common. 16 KiB: the largest page of Android's kernels, docs/pack-format.md.
static std::vector<std::string> commonArguments() {
  return {"ld.lld",
          "-z",
          "max-page-size=16384",
          "-z",
          "now",
          "-z",
          "relro",
          "--hash-style=gnu",
          "--no-undefined",
          "--gc-sections",
          "--build-id=none",
          "--strip-debug",
          "--as-needed"};
}

/// The libraries a link may take symbols from; those it does not need are not recorded.
static void addLibraries(std::vector<std::string> &words, StringRef folder) {
  std::vector<std::string> paths;
  std::error_code listing;
  for (sys::fs::directory_iterator it(folder, listing), end; it != end && !listing; it.increment(listing)) {
    StringRef name = sys::path::filename(it->path());
    if (name.starts_with("libc.so") || name == "libdl.so")
      paths.push_back(it->path());
  }
  llvm::sort(paths);
  words.insert(words.end(), paths.begin(), paths.end());
}

static Error runLinker(ArrayRef<std::string> words, const std::string &output) {
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  OutputPipe linked;
  if (!linked.isOpen())
    return linkError("cannot make a pipe for the linker");
  std::string pipePath = linked.path();
  arguments.push_back("-o");
  arguments.push_back(pipePath.c_str());
  std::string messages;
  raw_string_ostream text(messages);
  lld::Result result = lld::lldMain(arguments, text, text, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return linkError("linking '" + output + "' failed: " + StringRef(messages).trim());
  return writeLinked(linked.finish(), output);
}

Error linkSharedObject(const SharedObjectInputs &inputs, const std::string &output) {
  if (!sys::fs::exists(inputs.runtimeArchive))
    return linkError("the runtime archive '" + inputs.runtimeArchive + "' is missing; build moec's target 'moert'");
  std::string script = output + ".version-script";
  std::error_code code;
  raw_fd_ostream stream(script, code);
  if (code)
    return linkError("cannot write '" + script + "': " + code.message());
  stream << kVersionScript;
  stream.close();
  if ((code = stream.error())) {
    stream.clear_error(); // or its destructor ends the process
    sys::fs::remove(script);
    return linkError("cannot write '" + script + "': " + code.message());
  }
  std::vector<std::string> words = commonArguments();
  for (std::string word :
       {std::string("-shared"), std::string("-Bsymbolic"), "--version-script=" + script, "-soname=" + inputs.soname})
    words.push_back(word);
  words.insert(words.end(), inputs.objects.begin(), inputs.objects.end());
  // The archive's entry point is the only root; what it does not reach is not linked.
  for (const char *word : {"-u", "moert_get_api"})
    words.push_back(word);
  words.push_back(inputs.runtimeArchive);
  addLibraries(words, inputs.libraryFolder);
  Error error = runLinker(words, output);
  sys::fs::remove(script);
  return error;
}

Error linkAndroidProgram(const ProgramInputs &inputs, const std::string &output) {
  if (!sys::fs::exists(inputs.archive))
    return linkError("the archive '" + inputs.archive + "' is missing; build moec's target 'moe-run-android'");
  std::vector<std::string> words = commonArguments();
  // Copy relocations would fix the size of the C library's variables in the program.
  for (const char *word : {"-pie", "-dynamic-linker", "/system/bin/linker64", "-e", "_start", "-z", "nocopyreloc"})
    words.push_back(word);
  words.push_back(inputs.archive);
  addLibraries(words, inputs.libraryFolder);
  return runLinker(words, output);
}

Expected<uint64_t> mappedBytes(StringRef file) {
  auto buffer = MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read '" + file + "': " + buffer.getError().message());
  auto object = object::ELFFile<object::ELF64LE>::create((*buffer)->getBuffer());
  if (!object)
    return object.takeError();
  auto headers = object->program_headers();
  if (!headers)
    return headers.takeError();
  uint64_t total = 0;
  constexpr uint64_t kPage = 4096;
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_LOAD)
      total += alignTo(uint64_t(header.p_vaddr) + header.p_memsz, kPage) - alignDown(uint64_t(header.p_vaddr), kPage);
  return total;
}

} // namespace moec
