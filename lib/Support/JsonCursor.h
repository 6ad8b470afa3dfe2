// SPDX-License-Identifier: Apache-2.0
/// \file
/// Typed reading of JSON with messages that name the file, the path of the value, what was found and what was expected:
/// `config.json: num_experts_per_tok is 17, expects 1 to 16`.
#ifndef LIB_SUPPORT_JSONCURSOR_H
#define LIB_SUPPORT_JSONCURSOR_H

#include "lib/Support/Json.h"

#include <limits>

namespace moec {

/// A place in a JSON document. The document must outlive it.
class JsonCursor {
public:
  JsonCursor(llvm::StringRef file, const Json &root) : file(file.str()), value(&root) {}

  const Json &json() const { return *value; }
  const std::string &fileName() const { return file; }
  const std::string &jsonPath() const { return path; }

  /// The member `key`. Errors: this is no object; it has no such member.
  llvm::Expected<JsonCursor> at(llvm::StringRef key) const;
  /// The member `key`, or nothing if there is none, it is null, or this is no object.
  std::optional<JsonCursor> find(llvm::StringRef key) const;
  /// All elements. Error: this is no array.
  llvm::Expected<std::vector<JsonCursor>> elements() const;
  /// All members in order with their keys. Error: this is no object.
  llvm::Expected<std::vector<std::pair<std::string, JsonCursor>>> members() const;

  llvm::Expected<bool> boolean() const;
  llvm::Expected<std::string> string() const;
  /// A finite number from `least` to `most`.
  llvm::Expected<double> number(double least = -std::numeric_limits<double>::max(),
                                double most = std::numeric_limits<double>::max()) const;
  /// An integer from `least` to `most`; `why` says in the message where the limit comes from, e.g. "num_experts".
  llvm::Expected<int64_t> integer(int64_t least, int64_t most, llvm::StringRef why = "") const;
  llvm::Expected<uint64_t> unsignedInteger() const;

  /// `<file>: <path> is <found>, expects <expected>`.
  llvm::Error wrong(const llvm::Twine &expected) const;
  /// `<file>: <path> <text>`.
  llvm::Error complain(const llvm::Twine &text) const;

private:
  JsonCursor(const JsonCursor &parent, std::string path, const Json &value)
      : file(parent.file), path(std::move(path)), value(&value) {}
  std::string memberPath(llvm::StringRef key) const;

  std::string file;
  std::string path; // empty at the root
  const Json *value;
};

} // namespace moec
#endif
