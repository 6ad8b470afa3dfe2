// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-opt`: reads, transforms and prints the IR of every stage. `--moe-stage=S` runs the passes of stage S.
/// Main source: docs/command-line.md.
#include "passes/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  moec::registerDialects(registry);
  moec::registerPasses();
  // A stage is a registered pipeline, whose flag has no value: --moe-stage=plan becomes --moe-stage-plan.
  std::vector<std::string> words(argv, argv + argc);
  std::vector<char *> arguments;
  for (std::string &word : words) {
    if (llvm::StringRef(word).starts_with("--moe-stage="))
      word[std::string("--moe-stage").size()] = '-';
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, arguments.data(), "moec: IR of every stage\n", registry));
}
