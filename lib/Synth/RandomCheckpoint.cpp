// SPDX-License-Identifier: Apache-2.0
/// \file
/// Places tensors in safetensors files and produces their bytes.
#include "lib/Synth/RandomCheckpoint.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <thread>

using llvm::Error;
using llvm::Twine;

namespace moec {

namespace {

/// Large enough that system calls do not count, small enough to stay in the second-level cache.
constexpr size_t kPieceBytes = 1 << 20;
/// Headers stay far below the 100 MB that readers accept.
constexpr size_t kMaxTensorsInFile = 100'000;
constexpr size_t kMaxFiles = 99'999;

llvm::Expected<uint64_t> tensorBytes(const RandomCheckpointTensor &tensor, RandomType type) {
  if (tensor.shape.empty() || tensor.shape.size() > 3)
    return fault("'" + tensor.name + "' has " + Twine(tensor.shape.size()) + " dimensions, expects one to three");
  std::optional<uint64_t> count = checkedProduct(tensor.shape);
  std::optional<uint64_t> bytes = count ? checkedMul(*count, bytesOf(type)) : std::nullopt;
  if (!bytes || *bytes == 0 || *bytes > uint64_t(INT64_MAX))
    return fault("'" + tensor.name + "' cannot be generated: expects between 1 value and 2^63 bytes");
  return *bytes;
}

} // namespace

RandomTensor RandomCheckpointTensor::values(const RandomKind &kind) const {
  return RandomTensor::ofShape(kind, name, shape);
}

llvm::Expected<RandomCheckpoint> RandomCheckpoint::plan(RandomKind kind, RandomType type, uint64_t shardBytes,
                                                        std::vector<RandomCheckpointTensor> tensors) {
  if (tensors.empty() || tensors.size() > kMaxRandomTensors)
    return fault("a random checkpoint of " + Twine(tensors.size()) + " tensors is not made, expects 1 to " +
                 Twine(kMaxRandomTensors));
  RandomCheckpoint checkpoint(kind, type);
  uint64_t filled = 0, total = 0;
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    llvm::Expected<uint64_t> bytes = tensorBytes(tensor, type);
    if (!bytes)
      return bytes.takeError();
    std::optional<uint64_t> sum = checkedAdd(total, *bytes);
    if (!sum || *sum > kMaxRandomBytes)
      return fault("the checkpoint would exceed " + formatSize(kMaxRandomBytes) + " with tensor '" + tensor.name +
                   "', which is more than is generated; choose a smaller model");
    total = *sum;
    bool isFull = checkpoint.fileList.empty() || filled + *bytes > shardBytes ||
                  index - checkpoint.fileList.back().firstTensor >= kMaxTensorsInFile;
    if (isFull) {
      checkpoint.fileList.push_back({"", index, index, 0, 0});
      filled = 0;
    }
    tensor.file = static_cast<uint32_t>(checkpoint.fileList.size() - 1);
    tensor.offsetBytes = filled; // of the data; the header comes below
    tensor.sizeBytes = *bytes;
    filled += *bytes;
    checkpoint.fileList.back().endTensor = index + 1;
  }
  size_t numFiles = checkpoint.fileList.size();
  if (numFiles > kMaxFiles)
    return fault("the checkpoint would have " + Twine(numFiles) + " files, expects at most " + Twine(kMaxFiles) +
                 "; choose a larger shard size");
  checkpoint.tensorList = std::move(tensors);
  for (auto [index, file] : llvm::enumerate(checkpoint.fileList)) {
    file.name = "model.safetensors";
    if (numFiles > 1) {
      file.name.clear();
      llvm::raw_string_ostream(file.name) << llvm::format("model-%05zu-of-%05zu.safetensors", index + 1, numFiles);
    }
    file.headerBytes = checkpoint.header(file).size();
    for (size_t i = file.firstTensor; i < file.endTensor; ++i)
      checkpoint.tensorList[i].offsetBytes += file.headerBytes;
    const RandomCheckpointTensor &last = checkpoint.tensorList[file.endTensor - 1];
    file.sizeBytes = last.offsetBytes + last.sizeBytes;
  }
  return checkpoint;
}

uint64_t RandomCheckpoint::totalBytes() const {
  uint64_t total = 0;
  for (const RandomCheckpointFile &file : fileList)
    total += file.sizeBytes;
  return total;
}

std::string RandomCheckpoint::header(const RandomCheckpointFile &file) const {
  JsonObject root;
  root.set("__metadata__", JsonObject().set("format", "pt").set("generator", randomKind(kindOfAll)));
  uint64_t begin = 0;
  for (size_t i = file.firstTensor; i < file.endTensor; ++i) {
    const RandomCheckpointTensor &tensor = tensorList[i];
    JsonArray shape(tensor.shape.begin(), tensor.shape.end());
    JsonArray offsets = {begin, begin + tensor.sizeBytes};
    root.set(tensor.name, JsonObject()
                              .set("dtype", nameOf(valueType))
                              .set("shape", std::move(shape))
                              .set("data_offsets", std::move(offsets)));
    begin += tensor.sizeBytes;
  }
  std::string text = writeJson(std::move(root), 0);
  // Blanks to a multiple of 8, so that the values are aligned.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  llvm::support::endian::write64le(length.data(), text.size());
  return length + text;
}

std::string RandomCheckpoint::indexJson() const {
  if (fileList.size() == 1)
    return "";
  JsonObject map;
  uint64_t total = 0;
  for (const RandomCheckpointTensor &tensor : tensorList) {
    map.set(tensor.name, fileList[tensor.file].name);
    total += tensor.sizeBytes;
  }
  return writeJson(
      JsonObject().set("metadata", JsonObject().set("total_size", total)).set("weight_map", std::move(map)));
}

Error RandomCheckpoint::stream(size_t index, llvm::function_ref<Error(llvm::ArrayRef<uint8_t>)> sink) const {
  const RandomCheckpointFile &file = fileList[index];
  std::string head = header(file);
  if (Error error = sink(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(head.data()), head.size())))
    return error;
  std::vector<uint8_t> piece(kPieceBytes);
  uint64_t elementBytes = bytesOf(valueType);
  for (size_t i = file.firstTensor; i < file.endTensor; ++i) {
    RandomTensor values = tensorList[i].values(kindOfAll);
    for (uint64_t done = 0; done < tensorList[i].sizeBytes;) {
      size_t bytes = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, tensorList[i].sizeBytes - done));
      values.bytes(valueType, done / elementBytes, llvm::MutableArrayRef(piece).take_front(bytes));
      if (Error error = sink(llvm::ArrayRef(piece).take_front(bytes)))
        return error;
      done += bytes;
    }
  }
  return Error::success();
}

std::vector<Digest128> RandomCheckpoint::hashes(unsigned numThreads) const {
  std::vector<Digest128> result(fileList.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t file; (file = next++) < fileList.size();) {
      Hash128 hash;
      llvm::cantFail(stream(file, [&](llvm::ArrayRef<uint8_t> bytes) {
        hash.update(bytes);
        return Error::success();
      }));
      result[file] = hash.digest();
    }
  };
  unsigned wanted = numThreads ? numThreads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<size_t>(wanted, fileList.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return result;
}

} // namespace moec
