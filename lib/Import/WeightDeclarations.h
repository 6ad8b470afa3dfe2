// SPDX-License-Identifier: Apache-2.0
/// \file
/// Declares the weights of a model: symbol, shape, role, and which rows of which tensors they are. Part of the import
/// step. Main source: transformers' `models/<model_type>/modeling_*.py`.
#ifndef LIB_IMPORT_WEIGHTDECLARATIONS_H
#define LIB_IMPORT_WEIGHTDECLARATIONS_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Import/Checkpoint.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace moec {

/// Weights by symbol.
using WeightMap = std::map<std::string, mlir::moe::WeightOp>;

/// Adds a `moe.weight` for every parameter at the builder's place; `fileNumbers` maps files of the checkpoint to
/// indices in `moe.files`. The symbols are listed in GraphBuilder.h.
///
/// Errors: a tensor that the checkpoint lacks; experts of different types.
llvm::Expected<WeightMap> declareWeights(mlir::OpBuilder &builder, const Checkpoint &checkpoint,
                                         const std::map<uint32_t, int64_t> &fileNumbers);

} // namespace moec
#endif
