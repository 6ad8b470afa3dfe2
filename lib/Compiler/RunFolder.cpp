// SPDX-License-Identifier: Apache-2.0
/// \file
/// moe-run is linked here, since an NDK may be given; script and text are templates that take names.
#include "lib/Compiler/RunFolder.h"

#include "lib/Link/SharedObject.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace moec {

namespace {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// 'text' for a POSIX shell.
std::string shellQuoted(llvm::StringRef text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// A name that needs no quotes in a shell of the device.
std::string plainName(llvm::StringRef name) {
  std::string plain;
  for (char c : name)
    plain += llvm::isAlnum(c) || c == '.' || c == '_' || c == '-' ? c : '_';
  return plain;
}

/// The pack as seen from the folder: beside it if it lies there, so that both can be moved together.
std::string packSeenFrom(llvm::StringRef prefix, llvm::StringRef packPath) {
  llvm::SmallString<256> own(prefix), pack(packPath);
  fs::make_absolute(own);
  fs::make_absolute(pack);
  if (path::parent_path(own) == path::parent_path(pack))
    return ("../" + path::filename(pack)).str();
  return pack.str().str();
}

using Values = std::vector<std::pair<std::string, std::string>>;

/// `text` with its @WORDS@ replaced. One pass: what looks like such a word inside of a value stays.
std::string substituted(llvm::StringRef text, const Values &values) {
  std::string result;
  while (!text.empty()) {
    size_t length = std::max<size_t>(1, text.find('@'));
    llvm::StringRef piece = text.take_front(length);
    for (const auto &[word, value] : values)
      if (text.starts_with(word)) {
        piece = value;
        length = word.size();
      }
    result += piece;
    text = text.drop_front(std::min(length, text.size()));
  }
  return result;
}

/// Writes the template `name` of the device folder with its @WORDS@ replaced.
llvm::Error writeTemplate(const RunFolderInputs &inputs, llvm::StringRef name, const Values &values,
                          fs::perms permissions, OutputTransaction &outputs) {
  constexpr uint64_t kMaxTemplateBytes = 1 << 20;
  auto text = readTextFile(inputs.deviceFolder + "/" + name.str() + ".in", kMaxTemplateBytes);
  if (!text)
    return text.takeError();
  auto file = outputs.add(runFolderOf(inputs.prefix) + "/" + name.str());
  if (!file)
    return file.takeError();
  if (std::error_code code = fs::setPermissions((*file)->temporaryPath(), permissions))
    return fault("cannot set the permissions of '" + (*file)->path() + "': " + code.message());
  return (*file)->write(substituted(*text, values));
}

} // namespace

std::string runFolderOf(llvm::StringRef prefix) { return (prefix + ".run").str(); }

llvm::Error writeRunFolder(const RunFolderInputs &inputs, OutputTransaction &outputs) {
  std::string folder = runFolderOf(inputs.prefix);
  if (std::error_code code = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::all_all))
    return fault("cannot make the folder '" + folder + "' for the files of the phone: " + code.message());
  constexpr uint64_t kMaxLibraryBytes = uint64_t(1) << 31;
  std::string stem = path::filename(inputs.prefix).str();
  auto bytes = readTextFile(inputs.sharedObject, kMaxLibraryBytes);
  if (!bytes)
    return bytes.takeError();
  auto library = outputs.add(folder + "/" + stem + ".so");
  if (!library)
    return library.takeError();
  if (llvm::Error error = (*library)->write(*bytes))
    return error;
  auto program = outputs.add(folder + "/moe-run");
  if (!program)
    return program.takeError();
  if (llvm::Error error =
          linkAndroidProgram({inputs.deviceFolder + "/libmoerun.a", inputs.libraryFolder}, (*program)->temporaryPath()))
    return error;
  std::string pack = packSeenFrom(inputs.prefix, inputs.packPath);
  Values quoted = {{"@MODEL@", shellQuoted(stem + ".so")},
                   {"@PACK@", shellQuoted(pack)},
                   {"@DEVICE_NAME@", shellQuoted(plainName(stem))}};
  Values plain = {{"@MODEL@", stem + ".so"}, {"@PACK@", pack}, {"@DEVICE_NAME@", plainName(stem)}};
  auto readable = fs::all_read | fs::owner_write;
  if (llvm::Error error = writeTemplate(inputs, "run-on-device.sh", quoted, readable | fs::all_exe, outputs))
    return error;
  return writeTemplate(inputs, "README.txt", plain, readable, outputs);
}

} // namespace moec
