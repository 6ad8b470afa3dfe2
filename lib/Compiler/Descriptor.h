// SPDX-License-Identifier: Apache-2.0
/// \file
/// The data symbol `moert_model_v1` of a model as an object file. Part of the link step.
/// Main source: include/moert/Generated.h.
#ifndef LIB_COMPILER_DESCRIPTOR_H
#define LIB_COMPILER_DESCRIPTOR_H

#include "include/moert/Generated.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace moec {

/// Section of the `.so` that holds the report, so that it can be read without loading the library.
inline constexpr char kReportSection[] = ".moec.report";

/// Everything that the descriptor holds but the entry functions; pointers in `fixed` are not used.
struct DescriptorContent {
  moert_model_descriptor fixed{};
  std::string modelName, targetName, reportJson;
  std::vector<moert_streamed_table> tables;
  std::vector<uint8_t> tokenizer;
  std::vector<int32_t> stopIds;
};

/// Fills what the module records: sizes, plan, tables, sampling defaults, identities are left to the caller.
DescriptorContent describeModule(mlir::ModuleOp module);

/// A module in the LLVM dialect that defines `moert_model_v1` and refers to the functions prefill, decode and head.
mlir::OwningOpRef<mlir::ModuleOp> buildDescriptorModule(mlir::MLIRContext &context, const DescriptorContent &content);

} // namespace moec

#endif
