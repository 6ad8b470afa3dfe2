// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-opt`: reads, transforms and prints the IR of every stage. Main source: docs/command-line.md.
#include "dialects/moe/MoeDialect.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::moe::MoeDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "moec optimizer driver\n", registry));
}
