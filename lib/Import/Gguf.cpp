// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parsing and checking of gguf headers.
#include "lib/Import/Gguf.h"

#include "lib/Import/GgufBytes.h"
#include "lib/Import/Safetensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <bit>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

constexpr uint32_t kMagic = 0x46554747; // "GGUF", little-endian
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 1 << 20;
constexpr uint32_t kMaxDimensions = 4;   // as in ggml
constexpr unsigned kMaxArrayDepth = 4;   // arrays of arrays; published files have none
constexpr uint64_t kTextsInMessages = 3; // names of tensors that a message lists
constexpr uint64_t kTypesInMessages = 8; // so many types

//===-- Types -----------------------------------------------------------------------------------------------------===//

/// What ggml calls the types, by their number there. Those without a TensorType are refused by this name.
struct GgufType {
  uint32_t id;
  llvm::StringLiteral name;
  std::optional<TensorType> type = std::nullopt;
};

constexpr GgufType kTypes[] = {{0, "F32", TensorType::F32},
                               {1, "F16", TensorType::F16},
                               {2, "Q4_0", TensorType::Q4_0},
                               {3, "Q4_1", TensorType::Q4_1},
                               {6, "Q5_0"},
                               {7, "Q5_1"},
                               {8, "Q8_0", TensorType::Q8_0},
                               {9, "Q8_1"},
                               {10, "Q2_K"},
                               {11, "Q3_K"},
                               {12, "Q4_K"},
                               {13, "Q5_K"},
                               {14, "Q6_K", TensorType::Q6_K},
                               {15, "Q8_K"},
                               {16, "IQ2_XXS"},
                               {17, "IQ2_XS"},
                               {18, "IQ3_XXS"},
                               {19, "IQ1_S"},
                               {20, "IQ4_NL"},
                               {21, "IQ3_S"},
                               {22, "IQ2_S"},
                               {23, "IQ4_XS"},
                               {24, "I8"},
                               {25, "I16"},
                               {26, "I32"},
                               {27, "I64"},
                               {28, "F64"},
                               {29, "IQ1_M"},
                               {30, "BF16", TensorType::BF16},
                               {34, "TQ1_0"},
                               {35, "TQ2_0"},
                               {39, "MXFP4"},
                               {40, "NVFP4"}};

const GgufType *findType(uint32_t id) {
  auto at = llvm::find_if(kTypes, [&](const GgufType &type) { return type.id == id; });
  return at == std::end(kTypes) ? nullptr : at;
}

std::string namesOfReadTypes() {
  std::string names;
  for (const GgufType &type : kTypes)
    if (type.type)
      names += (names.empty() ? "" : ", ") + type.name.str();
  return names;
}

//===-- Header ----------------------------------------------------------------------------------------------------===//

/// Numbers of the kinds of metadata values in the file.
enum ValueKind : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64 };

/// Bytes of one value at least: what bounds the length of an array by what is left of the file.
std::optional<uint64_t> leastBytes(uint32_t kind) {
  constexpr uint64_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
  return kind < std::size(kBytes) ? std::optional(kBytes[kind]) : std::nullopt;
}

/// A tensor as the header has it.
struct TensorInfo {
  std::string name;
  std::vector<uint64_t> shape;
  uint32_t typeId = 0;
  uint64_t offset = 0; // from the start of the data
};

class HeaderReader {
public:
  explicit HeaderReader(GgufBytes &bytes) : bytes(bytes) {}

  Error read();
  /// Sorted by offset, from the start of the file.
  Expected<std::vector<GgufTensor>> place();
  Json takeKeys() { return std::move(keys); }

private:
  Error refuse(const Twine &text) const { return fault(bytes.name() + ": " + text); }
  Error checkStart();
  Error readKeys(uint64_t count);
  Json readValue(uint32_t kind, StringRef key, unsigned depth);
  Json readArray(StringRef key, unsigned depth);
  Error readTensors(uint64_t count);
  Error readTensor();
  Error readAlignment();
  std::string readName(StringRef what);
  Error refuseTypes() const;
  Expected<GgufTensor> placeOne(const TensorInfo &info) const;

  GgufBytes &bytes;
  JsonObject keys;
  std::vector<TensorInfo> infos;
  uint64_t numElements = 0; // of arrays so far
  uint64_t alignment = kDefaultAlignment;
  uint64_t dataBegin = 0;
};

} // namespace

Error HeaderReader::checkStart() {
  uint32_t magic = bytes.take<uint32_t>("the start"), version = bytes.take<uint32_t>("the version");
  if (Error error = bytes.takeError())
    return error;
  if (magic != kMagic)
    return refuse("it does not begin with GGUF; this is no gguf file or it is damaged, download it again");
  if (version != 2 && version != 3)
    return refuse((version & 0xFFFF) == 0 && version ? "it is big-endian, which is not supported; take the usual file"
                                                     : "it has the version " + Twine(version) +
                                                           ", expects 2 or 3; take a newer file of the same model");
  return Error::success();
}

Json HeaderReader::readArray(StringRef key, unsigned depth) {
  uint32_t kind = bytes.take<uint32_t>("an array's type");
  uint64_t count = bytes.take<uint64_t>("an array's length");
  std::optional<uint64_t> least = leastBytes(kind);
  if (bytes.hasFailed())
    return {};
  if (!least)
    return bytes.fail("key '" + key + "' is an array of the unknown type " + Twine(kind)), Json();
  if (depth == kMaxArrayDepth)
    return bytes.fail("key '" + key + "' is an array in more than " + Twine(kMaxArrayDepth) + " others"), Json();
  if (count > bytes.remaining() / *least)
    return bytes.fail("key '" + key + "' is an array of " + Twine(count) + " values, but " + Twine(bytes.remaining()) +
                      " bytes are left; the file is truncated or damaged, download it again"),
           Json();
  numElements += count;
  if (numElements > kMaxGgufElements)
    return bytes.fail("the arrays up to key '" + key + "' have " + Twine(numElements) + " values, expects at most " +
                      Twine(kMaxGgufElements)),
           Json();
  JsonArray values;
  values.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count && !bytes.hasFailed(); ++i)
    values.push_back(readValue(kind, key, depth + 1));
  return values;
}

Json HeaderReader::readValue(uint32_t kind, StringRef key, unsigned depth) {
  switch (kind) {
  case U8:
    return bytes.take<uint8_t>(key);
  case I8:
    return bytes.take<int8_t>(key);
  case U16:
    return bytes.take<uint16_t>(key);
  case I16:
    return bytes.take<int16_t>(key);
  case U32:
    return bytes.take<uint32_t>(key);
  case I32:
    return bytes.take<int32_t>(key);
  case F32:
    return static_cast<double>(std::bit_cast<float>(bytes.take<uint32_t>(key)));
  case Bool:
    return bytes.take<uint8_t>(key) != 0;
  case Text:
    return bytes.takeText(key, kMaxGgufTextBytes);
  case Array:
    return readArray(key, depth);
  case U64:
    return bytes.take<uint64_t>(key);
  case I64:
    return bytes.take<int64_t>(key);
  case F64:
    return std::bit_cast<double>(bytes.take<uint64_t>(key));
  default:
    bytes.fail("key '" + key + "' has a value of the unknown type " + Twine(kind));
    return {};
  }
}

/// Names stand in messages, so what a terminal would obey is refused.
std::string HeaderReader::readName(StringRef what) {
  std::string name = bytes.takeText(what, kMaxGgufNameBytes);
  if (!bytes.hasFailed() && llvm::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
    bytes.fail(what + " is " + Json(name).describe() + ", expects no control characters; the file is damaged");
  return name;
}

Error HeaderReader::readKeys(uint64_t count) {
  if (count > kMaxGgufKeys)
    return refuse("it says that it has " + Twine(count) + " metadata keys, expects at most " + Twine(kMaxGgufKeys));
  for (uint64_t i = 0; i < count; ++i) {
    std::string key = readName("a metadata key");
    uint32_t kind = bytes.take<uint32_t>("the type of a metadata value");
    Json value = bytes.hasFailed() ? Json() : readValue(kind, key, 0);
    if (Error error = bytes.takeError())
      return error;
    if (keys.find(key))
      return refuse("key '" + key + "' is there twice");
    keys.set(key, std::move(value));
  }
  return Error::success();
}

Error HeaderReader::readTensor() {
  TensorInfo info;
  info.name = readName("the name of a tensor");
  uint32_t numDimensions = bytes.take<uint32_t>("the number of dimensions of a tensor");
  if (!bytes.hasFailed() && numDimensions > kMaxDimensions)
    return refuse("tensor '" + info.name + "' has " + Twine(numDimensions) + " dimensions, expects at most " +
                  Twine(kMaxDimensions));
  for (uint32_t i = 0; i < numDimensions && !bytes.hasFailed(); ++i)
    info.shape.push_back(bytes.take<uint64_t>("the shape of a tensor"));
  std::reverse(info.shape.begin(), info.shape.end());
  // Nothing has such tensors, and empty ones would let a shape of any size pass the checks of bytes.
  if (!bytes.hasFailed() && llvm::is_contained(info.shape, 0))
    return refuse("tensor '" + info.name + "' has the shape " + formatShape(info.shape) +
                  ", expects no dimension of 0; the file is damaged, download it again");
  info.typeId = bytes.take<uint32_t>("the type of a tensor");
  info.offset = bytes.take<uint64_t>("the offset of a tensor");
  infos.push_back(std::move(info));
  return bytes.takeError();
}

Error HeaderReader::readTensors(uint64_t count) {
  if (count > kMaxGgufTensors)
    return refuse("it says that it has " + Twine(count) + " tensors, expects at most " + Twine(kMaxGgufTensors));
  for (uint64_t i = 0; i < count; ++i)
    if (Error error = readTensor())
      return error;
  return Error::success();
}

Error HeaderReader::readAlignment() {
  if (const Json *value = keys.find("general.alignment")) {
    alignment = value->asUint64().value_or(0);
    if (!std::has_single_bit(alignment) || alignment > kMaxAlignment)
      return refuse("general.alignment is " + value->describe() + ", expects a power of two up to " +
                    Twine(kMaxAlignment));
  }
  dataBegin = *checkedAlignUp(bytes.position(), alignment); // both are far below 2^63
  return Error::success();
}

Error HeaderReader::read() {
  if (Error error = checkStart())
    return error;
  uint64_t numTensors = bytes.take<uint64_t>("the number of tensors");
  uint64_t numKeys = bytes.take<uint64_t>("the number of metadata keys");
  if (Error error = bytes.takeError())
    return error;
  if (Error error = readKeys(numKeys))
    return error;
  if (Error error = readTensors(numTensors))
    return error;
  return readAlignment();
}

//===-- Tensors ---------------------------------------------------------------------------------------------------===//

/// The first types that are not read in one message, each with its first tensors.
Error HeaderReader::refuseTypes() const {
  llvm::MapVector<uint32_t, std::vector<StringRef>> others;
  for (const TensorInfo &info : infos)
    if (const GgufType *type = findType(info.typeId); !type || !type->type)
      others[info.typeId].push_back(info.name);
  if (others.empty())
    return Error::success();
  std::string text;
  for (const auto &[id, names] : llvm::ArrayRef(others.getArrayRef()).take_front(kTypesInMessages)) {
    const GgufType *type = findType(id);
    text += (text.empty() ? "" : "; ") + (type ? type->name.str() : "the unknown type " + std::to_string(id)) + " of ";
    for (size_t i = 0; i < std::min<size_t>(names.size(), kTextsInMessages); ++i)
      text += (i ? ", '" : "'") + names[i].str() + "'";
    if (names.size() > kTextsInMessages)
      text += " and " + std::to_string(names.size() - kTextsInMessages) + " more";
  }
  if (others.size() > kTypesInMessages)
    text += "; and " + std::to_string(others.size() - kTypesInMessages) + " more types";
  return refuse("it has tensors of types that are not read: " + text + "; read are " + namesOfReadTypes() +
                ": take the Q8_0 or the F16 file of the same model");
}

Expected<GgufTensor> HeaderReader::placeOne(const TensorInfo &info) const {
  auto refuseTensor = [&](const Twine &text) { return refuse("tensor '" + info.name + "' " + text); };
  TensorType type = *findType(info.typeId)->type;
  TypeBlock block = tensorTypeBlock(type);
  uint64_t columns = info.shape.empty() ? 1 : info.shape.back();
  std::optional<uint64_t> count = checkedProduct(info.shape);
  std::optional<uint64_t> size = count && columns % block.values == 0 ? tensorTypeBytes(type, *count) : std::nullopt;
  if (columns % block.values)
    return refuseTensor("has rows of " + Twine(columns) + " values, expects whole blocks of " + Twine(block.values) +
                        " (" + tensorTypeName(type) + ")");
  if (!size)
    return refuseTensor("has the shape " + formatShape(info.shape) + ", which is 2^64 bytes or more");
  if (info.offset % alignment)
    return refuseTensor("begins at " + Twine(info.offset) + ", expects a multiple of " + Twine(alignment) +
                        " (general.alignment)");
  std::optional<uint64_t> begin = checkedAdd(dataBegin, info.offset);
  std::optional<uint64_t> end = begin ? checkedAdd(*begin, *size) : std::nullopt;
  if (!end || *end > bytes.sizeBytes())
    return refuseTensor("ends behind the file: found " + Twine(bytes.sizeBytes()) + " bytes, needs " +
                        (end ? Twine(*end).str() : "more than 2^64") +
                        "; the download is incomplete, download it again");
  return GgufTensor{info.name, type, info.shape, *begin, *size};
}

Expected<std::vector<GgufTensor>> HeaderReader::place() {
  if (Error error = refuseTypes())
    return std::move(error);
  std::vector<GgufTensor> tensors;
  for (const TensorInfo &info : infos) {
    Expected<GgufTensor> tensor = placeOne(info);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  llvm::sort(tensors, [](const GgufTensor &a, const GgufTensor &b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i].name == tensors[i - 1].name)
      return refuse("tensor '" + tensors[i].name + "' is there twice");
  llvm::stable_sort(tensors, [](const GgufTensor &a, const GgufTensor &b) {
    return std::pair(a.offsetBytes, a.sizeBytes) < std::pair(b.offsetBytes, b.sizeBytes);
  });
  for (size_t i = 1; i < tensors.size(); ++i) {
    const GgufTensor &before = tensors[i - 1];
    if (tensors[i].offsetBytes < before.offsetBytes + before.sizeBytes)
      return refuse("tensor '" + tensors[i].name + "' begins at " + Twine(tensors[i].offsetBytes) + " and overlaps '" +
                    before.name + "', which ends at " + Twine(before.offsetBytes + before.sizeBytes));
  }
  return std::move(tensors);
}

Expected<GgufFile> GgufFile::open(StringRef path, StringRef name) {
  Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  if (Error error = refuseLfsPointer(*file, name))
    return std::move(error);
  GgufBytes bytes(*file, name);
  HeaderReader reader(bytes);
  if (Error error = reader.read())
    return std::move(error);
  Expected<std::vector<GgufTensor>> tensors = reader.place();
  if (!tensors)
    return tensors.takeError();
  return GgufFile(std::move(*file), reader.takeKeys(), std::move(*tensors));
}

} // namespace moec
