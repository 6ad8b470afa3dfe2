// SPDX-License-Identifier: Apache-2.0
/// \file
/// Object files depend on the module and the options alone, and targets that do not exist are refused by name.
/// Main source: lib/Object/Object.h.
#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/lower/kernels/Linear.h"

#include <gtest/gtest.h>

using namespace moec;

namespace {

llvm::Expected<llvm::SmallVector<char, 0>> objectFor(const ObjectOptions &options) {
  mlir::DialectRegistry registry;
  registerLLVMPipelineDialects(registry);
  registerObjectTranslations(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
  KernelContext kernel{builder, builder.getUnknownLoc(), Isa::Avx2};
  buildLinear(kernel, *module, "kernel", {{64, 64, Encoding::f32(), 0}, 4, 32, false});
  llvm::cantFail(lowerToLLVMDialect(*module));
  return emitObject(*module, options);
}

TEST(Object, IsDeterministic) {
  ObjectOptions options{"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma"};
  auto first = llvm::cantFail(objectFor(options)), second = llvm::cantFail(objectFor(options));
  EXPECT_GT(first.size(), 0u);
  EXPECT_TRUE(first == second);
}

TEST(Object, RefusesUnknownTargets) {
  auto textOf = [](const ObjectOptions &options) { return llvm::toString(objectFor(options).takeError()); };
  EXPECT_EQ(textOf({"riscv64-linux-gnu", "generic", ""}),
            "expects an aarch64 or x86_64 target, but got 'riscv64-linux-gnu'");
  EXPECT_EQ(textOf({"x86_64-linux-gnu", "z80", ""}), "target x86_64-linux-gnu has no cpu 'z80'");
  EXPECT_EQ(textOf({"x86_64-linux-gnu", "generic", "+avx2,+warp"}),
            "expects features of x86_64-linux-gnu as +name or -name, but got '+warp'");
}

} // namespace
