// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-opt`: reads, transforms and prints the IR of every stage. `--moe-stage=S` runs the passes of stage S.
/// Main source: docs/command-line.md.
#include "lib/Support/ModuleText.h"
#include "passes/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

/// False after a message if MLIR's parser would end the process on the file.
static bool checkInput(const std::string &path) {
  // limitation L16: what comes through a pipe goes straight to the parser.
  if (path == "-")
    return true;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return true; // opening it again says why
  llvm::Error error = moec::checkModuleText((*buffer)->getBuffer(), path);
  if (!error)
    return true;
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return false;
}

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
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, arguments.data(), "moec: IR of every stage\n", registry);
  if (!checkInput(input))
    return 1;
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, arguments.data(), input, output, registry));
}
