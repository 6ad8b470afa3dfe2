// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parsing and checking of safetensors headers.
#include "lib/Import/Safetensors.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/JsonCursor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace moec {

namespace {

// The format knows no limit; no model has more dimensions.
constexpr size_t kMaxDimensions = 8;

/// Messages about one tensor of one file.
struct TensorFault {
  llvm::StringRef file;
  llvm::StringRef tensor;
  Error operator()(const Twine &text) const { return fault(file + ": tensor '" + tensor + "' " + text); }
};

Expected<std::vector<uint64_t>> readShape(const JsonCursor &entry) {
  Expected<JsonCursor> shape = entry.at("shape");
  if (!shape)
    return shape.takeError();
  Expected<std::vector<JsonCursor>> elements = shape->elements();
  if (!elements)
    return elements.takeError();
  if (elements->size() > kMaxDimensions)
    return shape->wrong("at most " + Twine(kMaxDimensions) + " dimensions");
  std::vector<uint64_t> result;
  for (const JsonCursor &element : *elements) {
    Expected<uint64_t> extent = element.unsignedInteger();
    if (!extent)
      return extent.takeError();
    result.push_back(*extent);
  }
  return std::move(result);
}

Expected<std::pair<uint64_t, uint64_t>> readOffsets(const JsonCursor &entry) {
  Expected<JsonCursor> offsets = entry.at("data_offsets");
  if (!offsets)
    return offsets.takeError();
  Expected<std::vector<JsonCursor>> elements = offsets->elements();
  if (!elements)
    return elements.takeError();
  if (elements->size() != 2)
    return offsets->wrong("an array of 2");
  Expected<uint64_t> begin = (*elements)[0].unsignedInteger();
  if (!begin)
    return begin.takeError();
  Expected<uint64_t> end = (*elements)[1].unsignedInteger();
  if (!end)
    return end.takeError();
  return std::make_pair(*begin, *end);
}

/// Reads one entry; its offset is from the start of the data still.
Expected<SafetensorsEntry> readEntry(llvm::StringRef name, const JsonCursor &json) {
  TensorFault refuse{json.fileName(), name};
  Expected<JsonCursor> typeField = json.at("dtype");
  if (!typeField)
    return typeField.takeError();
  Expected<std::string> typeName = typeField->string();
  if (!typeName)
    return typeName.takeError();
  std::optional<TensorType> type = parseTensorType(*typeName);
  if (!type || isBlockType(*type))
    return refuse("has the unknown dtype '" + *typeName + "', expects F32, F16 or BF16");
  Expected<std::vector<uint64_t>> shape = readShape(json);
  if (!shape)
    return shape.takeError();
  auto offsets = readOffsets(json);
  if (!offsets)
    return offsets.takeError();
  auto [begin, end] = *offsets;
  std::optional<uint64_t> count = checkedProduct(*shape);
  std::optional<uint64_t> bytes = count ? tensorTypeBytes(*type, *count) : std::nullopt;
  if (!bytes)
    return refuse("has the shape " + formatShape(*shape) + ", which is 2^64 bytes or more");
  if (begin > end || end - begin != *bytes)
    return refuse("has data_offsets [" + Twine(begin) + ", " + Twine(end) + "], but " + *typeName + " of shape " +
                  formatShape(*shape) + " needs " + Twine(*bytes) + " bytes");
  return SafetensorsEntry{name.str(), *type, std::move(*shape), begin, *bytes};
}

/// Without gaps or overlaps from 0 on. Returns the end of the last tensor. Sorts by offset.
Expected<uint64_t> checkOrder(llvm::StringRef file, std::vector<SafetensorsEntry> &entries) {
  // The name makes the order total; names are unique.
  llvm::sort(entries, [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
    return std::tie(a.offsetBytes, a.sizeBytes, a.name) < std::tie(b.offsetBytes, b.sizeBytes, b.name);
  });
  uint64_t end = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry &entry = entries[i];
    TensorFault refuse{file, entry.name};
    if (entry.offsetBytes < end)
      return refuse("begins at " + Twine(entry.offsetBytes) + " and overlaps '" + entries[i - 1].name +
                    "', which ends at " + Twine(end));
    if (entry.offsetBytes > end)
      return refuse("begins at " + Twine(entry.offsetBytes) + ", expects " + Twine(end) +
                    ", where the data before it end; the bytes between belong to no tensor");
    // readEntry has seen that this is data_offsets[1]: no overflow.
    end = entry.offsetBytes + entry.sizeBytes;
  }
  return end;
}

Error truncated(llvm::StringRef name, uint64_t found, const Twine &needed) {
  return fault(name + " is truncated: found " + Twine(found) + " bytes, needs " + needed + "; download the file again");
}

Expected<std::string> readHeaderText(const RandomAccessFile &file, llvm::StringRef name) {
  uint64_t found = file.sizeBytes();
  if (found < 8)
    return truncated(name, found, "at least 8");
  uint8_t lengthBytes[8];
  if (Error error = file.read(0, lengthBytes))
    return std::move(error);
  uint64_t length = llvm::support::endian::read64le(lengthBytes);
  if (length > kMaxSafetensorsHeaderBytes)
    return fault(name + ": its length field says that the header has " + Twine(length) + " bytes, expects at most " +
                 Twine(kMaxSafetensorsHeaderBytes) + "; this is no safetensors file or it is damaged");
  if (length > found - 8)
    return truncated(name, found, Twine(length + 8) + " for the header alone");
  std::string text(static_cast<size_t>(length), '\0');
  if (Error error = file.read(8, {reinterpret_cast<uint8_t *>(text.data()), text.size()}))
    return std::move(error);
  return std::move(text);
}

} // namespace

Error refuseLfsPointer(const RandomAccessFile &file, llvm::StringRef name) {
  constexpr llvm::StringLiteral kStart = "version https://git-lfs.github.com/spec/";
  // A pointer file has three short lines; the specification allows at most 1024 bytes.
  char buffer[1024];
  size_t length = static_cast<size_t>(std::min<uint64_t>(sizeof(buffer), file.sizeBytes()));
  if (Error error = file.read(0, {reinterpret_cast<uint8_t *>(buffer), length}))
    return error;
  llvm::StringRef text(buffer, length);
  if (!text.starts_with(kStart))
    return Error::success();
  llvm::StringRef size = text.split("\nsize ").second.split('\n').first;
  return fault(name + " is a Git LFS pointer, not the file itself (" + Twine(length) + " bytes, the file has " +
               (size.empty() ? "an unknown number of" : size) + "); run `git lfs pull` in its folder");
}

Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path, llvm::StringRef name) {
  Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  if (Error error = refuseLfsPointer(*file, name))
    return std::move(error);
  Expected<std::string> text = readHeaderText(*file, name);
  if (!text)
    return text.takeError();
  Expected<Json> json = parseJson(*text, (name + ": header").str());
  if (!json)
    return json.takeError();
  auto members = JsonCursor(name, *json).members();
  if (!members)
    return members.takeError();
  std::vector<SafetensorsEntry> entries;
  for (const auto &[tensor, value] : *members) {
    if (tensor == "__metadata__")
      continue;
    Expected<SafetensorsEntry> entry = readEntry(tensor, value);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  Expected<uint64_t> dataBytes = checkOrder(name, entries);
  if (!dataBytes)
    return dataBytes.takeError();
  uint64_t dataBegin = 8 + text->size(), found = file->sizeBytes();
  std::optional<uint64_t> needed = checkedAdd(dataBegin, *dataBytes);
  if (!needed || *needed > found)
    return truncated(name, found, needed ? Twine(*needed).str() : "more than 2^64");
  if (*needed < found)
    return fault(name + " has " + Twine(found) + " bytes, but its tensors end at " + Twine(*needed) +
                 "; the rest belongs to no tensor");
  for (SafetensorsEntry &entry : entries)
    entry.offsetBytes += dataBegin;
  return SafetensorsFile(std::move(*file), std::move(entries));
}

} // namespace moec
