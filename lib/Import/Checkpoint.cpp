// SPDX-License-Identifier: Apache-2.0
/// \file
/// Opening of checkpoint folders.
#include "lib/Import/Checkpoint.h"

#include "lib/Import/CheckpointFolder.h"
#include "lib/Import/GgufModel.h"
#include "lib/Import/Safetensors.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace moec {

namespace {

constexpr StringRef kSingle = "model.safetensors";
constexpr StringRef kIndex = "model.safetensors.index.json";

} // namespace

std::string Checkpoint::pathOf(StringRef name) const {
  return (root + (StringRef(root).ends_with("/") ? "" : "/") + name).str();
}

Expected<uint32_t> Checkpoint::addFile(StringRef name) {
  std::string path = pathOf(name);
  Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.takeError();
  if (Error error = refuseLfsPointer(*file, name))
    return std::move(error);
  fileList.push_back({name.str(), std::move(path), file->sizeBytes(), ""});
  hashes.emplace_back();
  return static_cast<uint32_t>(fileList.size() - 1);
}

Expected<Digest128> Checkpoint::fileHash(uint32_t fileIndex) const {
  std::optional<Digest128> &known = hashes[fileIndex];
  if (!known && parseRandomKind(fileList[fileIndex].kind))
    hashRandomFiles();
  // A gguf file is listed once for each use.
  for (size_t i = 0; i < fileList.size() && !known; ++i)
    if (fileList[i].path == fileList[fileIndex].path)
      known = hashes[i];
  if (!known) {
    Expected<Digest128> hash = hashFile(fileList[fileIndex].path);
    if (!hash)
      return hash.takeError();
    known = *hash;
  }
  return *known;
}

Expected<Json> Checkpoint::readJson(StringRef name) {
  Expected<uint32_t> index = addFile(name);
  if (!index)
    return index.takeError();
  return parseJsonFile(fileList[*index].path, name);
}

Error Checkpoint::setConfig(StringRef name, Expected<Json> json) {
  if (!json)
    return json.takeError();
  Expected<ModelConfig> config = parseModelConfig(JsonCursor(name, *json));
  if (!config)
    return config.takeError();
  modelConfig = std::move(*config);
  generationConfig = defaultGenerationConfig(modelConfig);
  return Error::success();
}

Error Checkpoint::setGeneration(Expected<Json> json, StringRef name) {
  if (!json)
    return json.takeError();
  return parseGenerationConfig(JsonCursor(name, *json), modelConfig).moveInto(generationConfig);
}

Error Checkpoint::readConfigs(llvm::ArrayRef<std::string> names) {
  if (Error error = setConfig("config.json", readJson("config.json")))
    return error;
  return llvm::is_contained(names, kGenerationFile) ? setGeneration(readJson(kGenerationFile)) : Error::success();
}

Error Checkpoint::addWeightFile(StringRef name) {
  Expected<uint32_t> index = addFile(name);
  if (!index)
    return index.takeError();
  Expected<SafetensorsFile> weights = SafetensorsFile::open(fileList[*index].path, name);
  if (!weights)
    return weights.takeError();
  for (const SafetensorsEntry &entry : weights->entries())
    tensorList.push_back({entry.name, entry.type, entry.shape, *index, entry.offsetBytes, entry.sizeBytes});
  return Error::success();
}

/// Sorts by name and refuses a name that stands in two files.
Error Checkpoint::sortTensors() {
  llvm::sort(tensorList, [](const CheckpointTensor &a, const CheckpointTensor &b) {
    return std::pair(StringRef(a.name), a.fileIndex) < std::pair(StringRef(b.name), b.fileIndex);
  });
  for (size_t i = 1; i < tensorList.size(); ++i)
    if (tensorList[i - 1].name == tensorList[i].name)
      return fault("tensor '" + tensorList[i].name + "' is duplicate: both '" +
                   fileList[tensorList[i - 1].fileIndex].name + "' and '" + fileList[tensorList[i].fileIndex].name +
                   "' hold it");
  return Error::success();
}

Error Checkpoint::readShards(llvm::ArrayRef<std::string> names) {
  Expected<Json> json = readJson(kIndex);
  if (!json)
    return json.takeError();
  Expected<JsonCursor> map = JsonCursor(kIndex, *json).at("weight_map");
  if (!map)
    return map.takeError();
  auto members = map->members();
  if (!members)
    return members.takeError();
  if (members->empty())
    return map->complain("is empty, expects the shard of every tensor");
  std::set<std::string> shards;
  for (const auto &[tensor, place] : *members) {
    Expected<std::string> shard = place.string();
    if (!shard)
      return shard.takeError();
    if (shard->empty() || StringRef(*shard).contains('/') || StringRef(*shard).contains('\\') ||
        StringRef(*shard).contains(".."))
      return place.wrong("the name of a file in the same folder");
    shards.insert(std::move(*shard));
  }
  for (const std::string &shard : shards)
    if (!llvm::is_contained(names, shard))
      return fault("'" + shard + "' is missing in '" + root + "': the download is incomplete, " + kIndex + " names " +
                   llvm::Twine(shards.size()) + " shards; download the missing file");
  for (const std::string &shard : shards)
    if (Error error = addWeightFile(shard))
      return error;
  if (Error error = sortTensors())
    return error;
  for (const auto &[tensor, place] : *members) {
    const CheckpointTensor *found = find(tensor);
    if (!found || fileList[found->fileIndex].name != *place.json().asString())
      return fault("tensor '" + tensor + "' is missing in '" + *place.json().asString() + "', where " + kIndex +
                   " says that it is" + (found ? "; it is in '" + fileList[found->fileIndex].name + "'" : ""));
  }
  for (const CheckpointTensor &tensor : tensorList)
    if (!map->find(tensor.name))
      return fault("tensor '" + tensor.name + "' is in '" + fileList[tensor.fileIndex].name + "', but " + kIndex +
                   " does not list it");
  return Error::success();
}

Error Checkpoint::readWeights(llvm::ArrayRef<std::string> names) {
  // A single file wins over an index, as in transformers.
  if (llvm::is_contained(names, kSingle)) {
    if (Error error = addWeightFile(kSingle))
      return error;
    return sortTensors();
  }
  if (llvm::is_contained(names, kIndex))
    return readShards(names);
  return refuseWithoutSafetensors(root, names);
}

Expected<bool> Checkpoint::haveSameBytes(const CheckpointTensor &a, const CheckpointTensor &b) const {
  if (a.type != b.type || a.shape != b.shape)
    return false;
  Expected<RandomAccessFile> fileOfA = RandomAccessFile::open(fileList[a.fileIndex].path);
  if (!fileOfA)
    return fileOfA.takeError();
  Expected<RandomAccessFile> fileOfB = RandomAccessFile::open(fileList[b.fileIndex].path);
  if (!fileOfB)
    return fileOfB.takeError();
  constexpr uint64_t kPieceBytes = 1 << 20;
  std::vector<uint8_t> pieceOfA(std::min(kPieceBytes, a.sizeBytes)), pieceOfB(pieceOfA.size());
  for (uint64_t done = 0; done < a.sizeBytes; done += kPieceBytes) {
    size_t bytes = static_cast<size_t>(std::min(kPieceBytes, a.sizeBytes - done));
    llvm::MutableArrayRef<uint8_t> left = llvm::MutableArrayRef(pieceOfA).take_front(bytes);
    llvm::MutableArrayRef<uint8_t> right = llvm::MutableArrayRef(pieceOfB).take_front(bytes);
    if (Error error = fileOfA->read(a.offsetBytes + done, left))
      return std::move(error);
    if (Error error = fileOfB->read(b.offsetBytes + done, right))
      return std::move(error);
    if (left != right)
      return false;
  }
  return true;
}

/// A tied model whose checkpoint has a head all the same: the copy of the embedding that some tools write is dropped;
/// another matrix was trained, and is used.
Error Checkpoint::resolveTiedHead() {
  const CheckpointTensor *head = find("lm_head.weight"), *embedding = find(embeddingName(modelConfig));
  if (!modelConfig.tieWordEmbeddings || !head || !embedding)
    return Error::success();
  Expected<bool> isCopy = haveSameBytes(*head, *embedding);
  if (!isCopy)
    return isCopy.takeError();
  if (*isCopy) {
    tensorList.erase(tensorList.begin() + (head - tensorList.data()));
    return Error::success();
  }
  modelConfig.tieWordEmbeddings = false;
  warningList.push_back("tensor 'lm_head.weight' differs from '" + embedding->name +
                        "', but config.json says tie_word_embeddings true; the stored head is used");
  return Error::success();
}

Expected<Checkpoint> Checkpoint::open(StringRef folder, bool isStrict) {
  if (isGgufFile(folder))
    return openGguf(folder, isStrict);
  Expected<std::vector<std::string>> names = listCheckpointFolder(folder);
  if (!names)
    return names.takeError();
  Checkpoint checkpoint(folder);
  if (Error error = checkpoint.readConfigs(*names))
    return std::move(error);
  // Kinds without safetensors often lack tokenizer.json too; the weights are the better reason.
  bool hasTokenizer = llvm::is_contained(*names, "tokenizer.json");
  if (hasTokenizer)
    if (Expected<uint32_t> index = checkpoint.addFile("tokenizer.json"); !index)
      return index.takeError();
  if (Error error = checkpoint.readWeights(*names))
    return std::move(error);
  if (!hasTokenizer)
    return fault("'" + folder + "' has no tokenizer.json; download it from where the weights come from");
  checkpoint.modelConfig.spelling = spellingOf(checkpoint.modelConfig, checkpoint.tensorList);
  if (Error error = checkpoint.resolveTiedHead())
    return std::move(error);
  if (Error error = checkpoint.checkAll(isStrict))
    return std::move(error);
  return std::move(checkpoint);
}

Error Checkpoint::checkAll(bool isStrict) {
  if (Error error = checkTensors(modelConfig, tensorList, warningList, noteList))
    return error;
  if (isStrict && !warningList.empty())
    return fault(warningList.front() + "; refused by --strict");
  return Error::success();
}

} // namespace moec
