// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the measurements of kernels share: medians of nine runs in turns, rows of results, and a kernel that is
/// compiled and loaded. Main source: docs/benchmarks.md.
#ifndef BENCHMARKS_KERNEL_BANDWIDTH_MEASURE_H
#define BENCHMARKS_KERNEL_BANDWIDTH_MEASURE_H

#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace moec {

/// Instruction levels by name.
inline constexpr std::pair<const char *, Isa> kIsaNames[] = {
    {"avx512vnni", Isa::Avx512Vnni}, {"avx2", Isa::Avx2}, {"avxvnni", Isa::AvxVnni}};

/// The instruction level that the only argument names, without one the first. Anything else ends the program.
inline Isa isaOf(int argc, char **argv) {
  if (argc < 2)
    return kIsaNames[0].second;
  for (auto [name, isa] : kIsaNames)
    if (argc == 2 && std::strcmp(argv[1], name) == 0)
      return isa;
  llvm::errs() << "usage: " << argv[0] << " [avx2|avxvnni|avx512vnni]\n";
  std::exit(2);
}

/// Median seconds of each piece of work over nine rounds in turns, after one that is not counted.
inline std::vector<double> secondsOf(std::vector<std::function<void()>> works) {
  constexpr size_t kRounds = 9;
  std::vector<std::vector<double>> times(works.size());
  for (size_t round = 0; round <= kRounds; ++round)
    for (size_t i = 0; i < works.size(); ++i) {
      auto start = std::chrono::steady_clock::now();
      works[i]();
      if (round != 0)
        times[i].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  std::vector<double> medians;
  for (std::vector<double> &all : times) {
    std::sort(all.begin(), all.end());
    medians.push_back(all[kRounds / 2]);
  }
  return medians;
}

/// One line of JSON: what was measured, its figure, and that over the figure of a loop that does nothing else.
inline void printRow(const std::string &kernel, Isa isa, int64_t tokens, double figure, const char *unit, double loop,
                     size_t bytes) {
  const char *name =
      std::find_if(std::begin(kIsaNames), std::end(kIsaNames), [&](auto &known) { return known.second == isa; })->first;
  llvm::outs() << llvm::formatv("{{\"kernel\": \"{0}\", \"isa\": \"{1}\", \"tokens\": {2}, \"figure\": {3:f3}, "
                                "\"unit\": \"{4}\", \"loop\": {5:f3}, \"ratio\": {6:f3}, \"bytes\": {7}}\n",
                                kernel, name, tokens, figure, unit, loop, loop > 0 ? figure / loop : 0.0, bytes);
  llvm::outs().flush();
}

/// The function `kernel` that `build` adds to a module, in this process. The library stays open.
inline void *loadKernel(Isa isa, llvm::function_ref<void(KernelContext &, mlir::ModuleOp)> build) {
  ObjectOptions options{"x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma,+f16c"};
  if (isa == Isa::Avx512Vnni)
    options.features += ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni";
  if (isa == Isa::AvxVnni)
    options.features += ",+avxvnni";
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
