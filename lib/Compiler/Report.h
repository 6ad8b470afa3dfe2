// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compile report: OUT.report.json, and the same for people. Main source: docs/reference/report.schema.json.
#ifndef LIB_COMPILER_REPORT_H
#define LIB_COMPILER_REPORT_H

#include "include/moert/moert.h"
#include "lib/Compiler/Descriptor.h"
#include "lib/Pack/PackPlan.h"
#include "lib/Support/Json.h"
#include "lib/Target/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace moec {

/// Bytes of a plan by class, as the report and the estimate list them.
JsonObject sizesByClass(const moert_plan_info &plan);

/// The report as JSON text without a newline at its end.
std::string writeReport(mlir::ModuleOp module, const PackPlan &pack, const moert_plan_info &plan,
                        const DescriptorContent &content, const TargetDescription &target);

/// A report as lines of text. Errors: not the JSON of a report.
llvm::Expected<std::string> formatReport(llvm::StringRef json);

} // namespace moec

#endif
