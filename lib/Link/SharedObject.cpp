// SPDX-License-Identifier: Apache-2.0
/// \file
/// Links the shared object of a model in process with lld. Main source: docs/architecture.md ("Link").
#include "lib/Link/SharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace moec {

static Error linkError(const Twine &text) {
  return createStringError(std::make_error_code(std::errc::invalid_argument), text);
}

/// The names that a model exports; all else is hidden, so that several models live in one process.
static constexpr StringRef kVersionScript = "{ global: moert_get_api; moert_model_v1; local: *; };\n";

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
  std::vector<std::string> words = {"ld.lld",
                                    "-shared",
                                    "-Bsymbolic",
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
                                    "--version-script=" + script,
                                    "-soname=" + inputs.soname};
  words.insert(words.end(), inputs.objects.begin(), inputs.objects.end());
  // The archive's entry point is the only root; what it does not reach is not linked.
  for (const char *word : {"-u", "moert_get_api"})
    words.push_back(word);
  words.push_back(inputs.runtimeArchive);
  std::error_code listing;
  for (sys::fs::directory_iterator it(inputs.stubFolder, listing), end; it != end && !listing; it.increment(listing))
    if (StringRef(it->path()).contains(".so"))
      words.push_back(it->path());
  words.push_back("-o");
  words.push_back(output);
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  std::string messages;
  raw_string_ostream text(messages);
  lld::Result result = lld::lldMain(arguments, text, text, {{lld::Gnu, &lld::elf::link}});
  sys::fs::remove(script);
  if (result.retCode != 0)
    return linkError("linking '" + output + "' failed: " + StringRef(messages).trim());
  return Error::success();
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
