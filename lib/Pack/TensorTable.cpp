// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensor table as text.
#include "lib/Pack/TensorTable.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Hash.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace moec {

static constexpr llvm::StringLiteral kStorageNames[] = {"matrix", "raw", "rows"};

static std::string escapeName(llvm::StringRef name) {
  std::string text;
  for (unsigned char c : name) {
    if (c > ' ' && c < 0x7f && c != '%')
      text += static_cast<char>(c);
    else
      text += {'%', llvm::hexdigit(c >> 4), llvm::hexdigit(c & 15)};
  }
  return text;
}

static bool unescapeName(llvm::StringRef text, std::string &name) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      if (text.substr(i + 1, 2).size() != 2 || text.substr(i + 1, 2).getAsInteger(16, value))
        return false;
      i += 2;
    }
    name += static_cast<char>(value);
  }
  return !text.empty();
}

std::string writeTensorTable(llvm::ArrayRef<TensorEntry> tensors) {
  std::string text;
  for (const TensorEntry &tensor : tensors) {
    text += escapeName(tensor.name);
    text += ' ';
    text += kStorageNames[static_cast<unsigned>(tensor.storage)];
    text += ' ';
    text += nameOf(tensor.encoding);
    for (uint64_t number : {uint64_t(tensor.rows), uint64_t(tensor.cols), uint64_t(tensor.record), tensor.offset}) {
      text += ' ';
      text += std::to_string(number);
    }
    text += '\n';
  }
  return text;
}

std::string writeTableChecksum(llvm::StringRef tensorTable, llvm::ArrayRef<uint8_t> partTable) {
  Hash128 hash;
  hash.update(tensorTable);
  hash.update(partTable);
  return ("checksum " + llvm::Twine(toHex(hash.digest64())) + "\n").str();
}

static bool parseLine(llvm::StringRef line, TensorEntry &entry) {
  llvm::SmallVector<llvm::StringRef, 8> fields;
  line.split(fields, ' ');
  if (fields.size() != 7 || !unescapeName(fields[0], entry.name))
    return false;
  const auto *storage = llvm::find(kStorageNames, fields[1]);
  if (storage == std::end(kStorageNames))
    return false;
  entry.storage = static_cast<TensorStorage>(storage - kStorageNames);
  llvm::Expected<Encoding> encoding = parseEncoding(fields[2]);
  if (!encoding) {
    llvm::consumeError(encoding.takeError());
    return false;
  }
  entry.encoding = *encoding;
  return !fields[3].getAsInteger(10, entry.rows) && !fields[4].getAsInteger(10, entry.cols) &&
         !fields[5].getAsInteger(10, entry.record) && !fields[6].getAsInteger(10, entry.offset) && entry.rows > 0 &&
         entry.cols > 0;
}

llvm::Expected<std::vector<TensorEntry>> parseTensorTable(llvm::StringRef text, llvm::StringRef file) {
  std::vector<TensorEntry> tensors;
  for (size_t line = 1; !text.empty(); ++line) {
    auto [first, rest] = text.split('\n');
    if (!parseLine(first, tensors.emplace_back()))
      return fault("'" + file + "' has a damaged tensor table: line " + llvm::Twine(line) + " is '" +
                   escapeName(first.take_front(80)) + "', expected name, storage, encoding and four numbers");
    text = rest;
  }
  return tensors;
}

} // namespace moec
