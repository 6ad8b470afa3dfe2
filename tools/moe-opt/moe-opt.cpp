// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-opt`: reads, transforms and prints the IR of every stage. `--moe-stage=S` runs the passes of stage S.
/// Main source: docs/command-line.md.
#include "passes/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  moec::registerDialects(registry);
  moec::registerPasses();
  // A stage is a registered pipeline, whose flag has no value: --moe-stage=plan becomes --moe-stage-plan.
  std::vector<std::string> words(argv, argv + argc);
  std::vector<char *> arguments;
  constexpr llvm::StringLiteral kStageFlag = "--moe-stage=";
  for (std::string &word : words) {
    if (llvm::StringRef(word).starts_with(kStageFlag)) {
      auto phase = moec::parsePhase(llvm::StringRef(word).drop_front(kStageFlag.size()));
      if (!phase || *phase >= moec::Phase::Object) {
        llvm::errs() << "error: " << word << ": expects a stage of passes, one of import to lower of "
                     << moec::phaseNames() << "\n";
        return 2;
      }
      word[kStageFlag.size() - 1] = '-';
    }
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, arguments.data(), "moec: IR of every stage\n", registry));
}
