// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the interpreter gets the values of `moe.weight` from. Main source: docs/architecture.md ("Tests").
#ifndef LIB_REFERENCE_WEIGHTPROVIDER_H
#define LIB_REFERENCE_WEIGHTPROVIDER_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Import/WeightPieces.h"
#include "lib/Reference/Matrix.h"

#include "mlir/IR/BuiltinOps.h"

#include <list>
#include <map>
#include <memory>

namespace moec {

/// Gives the values of weights as encoded by their types.
class WeightProvider {
public:
  virtual ~WeightProvider() = default;

  /// A vector as a matrix of one row, a matrix, or matrix `expert` of a rank-3 weight (0 otherwise).
  virtual llvm::Expected<std::shared_ptr<const Matrix>> matrix(mlir::moe::WeightOp weight, int64_t expert) = 0;
};

struct FileWeightOptions {
  /// Decoded matrices that are kept, in bytes; the least recently used go first. One is always kept.
  uint64_t cacheBytes = uint64_t(1) << 30;
  /// Whether each file's XXH3-128 is compared with the one in the module. Reads all files once.
  bool checksHashes = false;
};

/// Reads weights from the files that the module attribute `moe.files` lists. Not thread-safe.
class FileWeightProvider : public WeightProvider {
public:
  /// Opens the files. Without the attribute there are none. Errors: an entry is not {path, size, hash}; a file cannot
  /// be opened, has another size or another hash than when it was imported.
  static llvm::Expected<std::unique_ptr<FileWeightProvider>> create(mlir::ModuleOp module,
                                                                    const FileWeightOptions &options = {});

  llvm::Expected<std::shared_ptr<const Matrix>> matrix(mlir::moe::WeightOp weight, int64_t expert) override;

private:
  using Key = std::pair<std::string, int64_t>;
  struct Entry {
    Key key;
    std::shared_ptr<const Matrix> matrix;
  };

  explicit FileWeightProvider(const FileWeightOptions &options) : options(options) {}
  llvm::Error openFile(mlir::Attribute attribute);
  llvm::Expected<Matrix> readMatrix(mlir::moe::WeightOp weight, int64_t expert, int64_t rows, int64_t columns);
  void insert(const Key &key, std::shared_ptr<const Matrix> matrix);

  FileWeightOptions options;
  std::vector<WeightFile> files;
  std::list<Entry> recent; // the most recently used first
  std::map<Key, std::list<Entry>::iterator> byKey;
  uint64_t usedBytes = 0;
};

} // namespace moec

#endif
