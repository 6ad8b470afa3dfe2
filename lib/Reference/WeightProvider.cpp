// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads, decodes and encodes weights for the interpreter.
#include "lib/Reference/WeightProvider.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Hash.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace moec {

llvm::Expected<std::unique_ptr<FileWeightProvider>> FileWeightProvider::create(ModuleOp module,
                                                                               const FileWeightOptions &options) {
  std::unique_ptr<FileWeightProvider> provider(new FileWeightProvider(options));
  Attribute attribute = module->getAttr("moe.files");
  if (!attribute)
    return provider;
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list)
    return fault("module attribute 'moe.files' expects an array");
  for (Attribute entry : list)
    if (llvm::Error error = provider->openFile(entry))
      return error;
  return provider;
}

llvm::Error FileWeightProvider::openFile(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  auto path = entry ? entry.getAs<StringAttr>("path") : StringAttr();
  auto size = entry ? entry.getAs<IntegerAttr>("size") : IntegerAttr();
  if (!path || !size || !size.getType().isInteger(64))
    return fault("module attribute 'moe.files' expects entries with a path and a size : i64");
  if (auto kind = entry.getAs<StringAttr>("kind")) {
    std::optional<RandomKind> random = parseRandomKind(kind.getValue());
    if (!random)
      return fault(path.getValue() + " has the kind '" + kind.getValue() + "', expects random:SEED");
    files.push_back({nullptr, *random, static_cast<uint64_t>(size.getInt())});
    return llvm::Error::success();
  }
  llvm::Expected<RandomAccessFile> file = RandomAccessFile::open(path.getValue());
  if (!file)
    return file.takeError();
  if (file->sizeBytes() != static_cast<uint64_t>(size.getInt()))
    return fault(path.getValue() + " has " + llvm::Twine(file->sizeBytes()) + " bytes, but had " +
                 llvm::Twine(size.getInt()) + " when it was imported; import it again");
  if (auto hash = entry.getAs<StringAttr>("hash"); hash && options.checksHashes) {
    llvm::Expected<Digest128> digest = hashFile(path.getValue());
    if (!digest)
      return digest.takeError();
    if (digest->toHex() != hash.getValue())
      return fault(path.getValue() + " has the hash " + digest->toHex() + ", but had " + hash.getValue() +
                   " when it was imported; import it again");
  }
  uint64_t sizeBytes = file->sizeBytes();
  files.push_back({std::make_unique<RandomAccessFile>(std::move(*file)), {}, sizeBytes});
  return llvm::Error::success();
}

llvm::Expected<Matrix> FileWeightProvider::readMatrix(moe::WeightOp weight, int64_t expert, int64_t rows,
                                                      int64_t columns) {
  llvm::Expected<Encoding> encoding = moe::encodingOf(weight.getQuant());
  if (!encoding)
    return encoding.takeError();
  llvm::Expected<PiecedWeight> source = PiecedWeight::create(weight, expert, files);
  if (!source)
    return source.takeError();
  size_t count = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  if (weight.isVerbatim()) {
    std::vector<int8_t> codes(count);
    std::vector<uint16_t> scales(static_cast<size_t>(rows * encoding->numScales(columns)));
    if (llvm::Error error = source->readCodes(0, rows, codes, scales))
      return error;
    return Matrix::ofCodes(std::move(codes), scales, rows, columns, *encoding, weight.getSymName());
  }
  std::vector<float> values(count);
  if (llvm::Error error = source->readRows(0, rows, values))
    return error;
  return Matrix::create(values, rows, columns, *encoding, weight.getSymName());
}

llvm::Expected<std::shared_ptr<const Matrix>> FileWeightProvider::matrix(moe::WeightOp weight, int64_t expert) {
  Key key(weight.getSymName().str(), expert);
  if (auto found = byKey.find(key); found != byKey.end()) {
    recent.splice(recent.begin(), recent, found->second);
    return found->second->matrix;
  }
  RankedTensorType type = weight.getTensorType();
  int64_t columns = type.getShape().back(), rows = type.getRank() == 1 ? 1 : type.getShape()[type.getRank() - 2];
  if (expert < 0 || expert >= (type.getRank() == 3 ? type.getDimSize(0) : 1))
    return fault("'" + weight.getSymName() + "' has no expert " + llvm::Twine(expert));
  llvm::Expected<Matrix> matrix = readMatrix(weight, expert, rows, columns);
  if (!matrix)
    return matrix.takeError();
  auto shared = std::make_shared<const Matrix>(std::move(*matrix));
  insert(key, shared);
  return shared;
}

void FileWeightProvider::insert(const Key &key, std::shared_ptr<const Matrix> matrix) {
  usedBytes += matrix->sizeBytes();
  recent.push_front({key, std::move(matrix)});
  byKey[key] = recent.begin();
  while (usedBytes > options.cacheBytes && recent.size() > 1) {
    usedBytes -= recent.back().matrix->sizeBytes();
    byKey.erase(recent.back().key);
    recent.pop_back();
  }
}

} // namespace moec
