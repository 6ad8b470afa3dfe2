// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes the linear kernels whose instructions tools/dev/count-arm-instructions.py counts: an object for each arm64
/// level, FOLDER/LEVEL.o, with a function for each encoding. Main source: docs/benchmarks-arm64.md.
#include "test/unit/Kernels/Harness.h"

#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"

#include "llvm/Support/FileSystem.h"

using namespace moec;

namespace {

constexpr int64_t kRows = 768, kColumns = 2048, kMaxTokens = 8;

std::vector<Encoding> encodings() {
  std::vector<Encoding> result{Encoding::f16()};
  for (auto make : {Encoding::i4, Encoding::i4m, Encoding::i6, Encoding::i8, Encoding::i8m})
    for (int64_t group : {32, 64, 128})
      result.push_back(make(group));
  return result;
}

llvm::Error writeLevel(Isa isa, const std::string &folder) {
  mlir::DialectRegistry registry;
  registerLLVMPipelineDialects(registry);
  registerObjectTranslations(registry);
  mlir::MLIRContext context(registry);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
  KernelContext kernel{builder, builder.getUnknownLoc(), isa};
  for (const Encoding &encoding : encodings())
    buildLinear(kernel, *module, identifierOf(encoding), {{kRows, kColumns, encoding, 0}, kMaxTokens, 32, false});
  if (llvm::Error error = lowerToLLVMDialect(*module))
    return error;
  auto object = emitObject(*module, objectOptionsOf(isa));
  if (!object)
    return object.takeError();
  std::error_code code;
  llvm::raw_fd_ostream stream(folder + "/" + levelName(isa) + ".o", code);
  if (code)
    return llvm::createStringError(code, "cannot write into '%s'", folder.c_str());
  stream << llvm::StringRef(object->data(), object->size());
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: arm-kernel-objects FOLDER\n";
    return 2;
  }
  for (Isa isa : {Isa::Neon, Isa::Dotprod, Isa::I8mm})
    if (llvm::Error error = writeLevel(isa, argv[1])) {
      llvm::errs() << llvm::toString(std::move(error)) << "\n";
      return 1;
    }
  return 0;
}
