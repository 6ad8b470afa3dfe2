// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the measurements of kernels share: the best of nine runs, and a kernel that is compiled and loaded.
/// Main source: docs/benchmarks.md.
#ifndef BENCHMARKS_KERNEL_BANDWIDTH_MEASURE_H
#define BENCHMARKS_KERNEL_BANDWIDTH_MEASURE_H

#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace moec {

/// The instruction level that an argument `avx2` or its absence asks for.
inline Isa isaOf(int argc, char **argv) {
  return argc < 2 || std::strcmp(argv[1], "avx2") != 0 ? Isa::Avx512Vnni : Isa::Avx2;
}

inline double secondsOf(llvm::function_ref<void()> work) {
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// The function `kernel` that `build` adds to a module, in this process. The library stays open.
inline void *loadKernel(Isa isa, llvm::function_ref<void(KernelContext &, mlir::ModuleOp)> build) {
  ObjectOptions options{"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma,+f16c"};
  if (isa == Isa::Avx512Vnni)
    options.features += ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni";
  mlir::DialectRegistry registry;
  registerLLVMPipelineDialects(registry);
  registerObjectTranslations(registry);
  mlir::MLIRContext mlirContext(registry);
  mlirContext.loadAllAvailableDialects();
  mlir::OpBuilder builder(&mlirContext);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
  KernelContext context{builder, builder.getUnknownLoc(), isa};
  build(context, *module);
  llvm::cantFail(lowerToLLVMDialect(*module));
  auto object = llvm::cantFail(emitObject(*module, options));
  static int number = 0;
  std::string path = "./kernel-bandwidth-" + std::to_string(number++);
  std::error_code error;
  llvm::raw_fd_ostream(path + ".o", error).write(object.data(), object.size());
  if (std::system(("ld.lld-22 -shared " + path + ".o -o " + path + ".so").c_str()) != 0)
    exit(1);
  void *library = dlopen((path + ".so").c_str(), RTLD_NOW);
  return dlsym(library, "kernel");
}

} // namespace moec

#endif
