// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads fields of a JSON object one after the other and keeps the first error. Part of the import step.
#ifndef LIB_IMPORT_FIELDREADER_H
#define LIB_IMPORT_FIELDREADER_H

#include "lib/Support/Fault.h"
#include "lib/Support/JsonCursor.h"

namespace moec {

/// The list of fields reads as a list: after the first error every further field is its neutral value.
class FieldReader {
public:
  explicit FieldReader(const JsonCursor &root) : root(root) {}

  uint64_t count(llvm::StringRef key, int64_t most, llvm::StringRef why = "") {
    return static_cast<uint64_t>(required(key, int64_t(0), [&](JsonCursor at) { return at.integer(1, most, why); }));
  }
  /// `absent` where the field is missing or null.
  uint64_t countOr(llvm::StringRef key, int64_t most, uint64_t absent) {
    return root.find(key) ? count(key, most) : absent;
  }
  double number(llvm::StringRef key, double least, double most) {
    return required(key, 0.0, [&](JsonCursor at) { return at.number(least, most); });
  }
  double numberOr(llvm::StringRef key, double least, double most, double absent) {
    return root.find(key) ? number(key, least, most) : absent;
  }
  bool flag(llvm::StringRef key) {
    return required(key, false, [](JsonCursor at) { return at.boolean(); });
  }
  bool flagOr(llvm::StringRef key, bool absent) { return root.find(key) ? flag(key) : absent; }

  void keep(llvm::Error next) {
    if (!next)
      return;
    std::string text = llvm::toString(std::move(next));
    if (!message)
      message = std::move(text);
  }
  llvm::Error take() { return message ? fault(*message) : llvm::Error::success(); }
  bool hasFailed() const { return message.has_value(); }

private:
  template <typename T, typename Read> T required(llvm::StringRef key, T absent, Read read) {
    if (message)
      return absent;
    llvm::Expected<JsonCursor> at = root.at(key);
    if (!at) {
      keep(at.takeError());
      return absent;
    }
    llvm::Expected<T> value = read(*at);
    if (value)
      return *value;
    keep(value.takeError());
    return absent;
  }

  const JsonCursor &root;
  std::optional<std::string> message;
};

} // namespace moec
#endif
