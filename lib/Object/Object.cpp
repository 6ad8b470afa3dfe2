// SPDX-License-Identifier: Apache-2.0
/// \file
/// Code generation in process. Step: object. Main source: docs/architecture.md, "Object".
#include "lib/Object/Object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace moec {

namespace {

/// A translated and optimized module with its machine.
struct Generated {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

void initializeTargets() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

/// LLVM only warns about an unknown CPU or feature and goes on; here it is an error.
llvm::Error checkMachine(const llvm::Target &target, const ObjectOptions &options) {
  std::unique_ptr<llvm::MCSubtargetInfo> baseline(
      target.createMCSubtargetInfo(llvm::Triple(options.triple), "generic", ""));
  if (!baseline->isCPUStringValid(options.cpu))
    return llvm::createStringError("target %s has no cpu '%s'", options.triple.c_str(), options.cpu.c_str());
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(options.features).split(features, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : features) {
    llvm::StringRef name = feature.drop_front();
    bool hasSign = feature.starts_with("+") || feature.starts_with("-");
    bool isKnown = hasSign && llvm::any_of(baseline->getAllProcessorFeatures(),
                                           [&](const llvm::SubtargetFeatureKV &entry) { return name == entry.Key; });
    if (!isKnown)
      return llvm::createStringError("expects features of %s as +name or -name, but got '%s'", options.triple.c_str(),
                                     feature.str().c_str());
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const ObjectOptions &options) {
  initializeTargets();
  llvm::Triple triple(options.triple);
  std::string text;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, text);
  if (!target || (!triple.isAArch64() && !triple.isX86()))
    return llvm::createStringError("expects an aarch64 or x86_64 target, but got '%s'", options.triple.c_str());
  if (llvm::Error error = checkMachine(*target, options))
    return std::move(error);
  llvm::TargetOptions targetOptions;
  targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  targetOptions.FunctionSections = true;
  targetOptions.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, options.cpu, options.features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("cannot create a code generator for '%s'", options.triple.c_str());
  return machine;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Kernels are vectorized and blocked by their generators.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::Expected<Generated> generate(mlir::ModuleOp module, const ObjectOptions &options) {
  auto machine = createMachine(options);
  if (!machine)
    return machine.takeError();
  Generated result{std::make_unique<llvm::LLVMContext>(), std::move(*machine), nullptr};
  result.module = mlir::translateModuleToLLVMIR(module, *result.context, "model");
  if (!result.module)
    return llvm::createStringError("the translation to LLVM IR failed; see the diagnostics before this line");
  result.module->setTargetTriple(result.machine->getTargetTriple());
  result.module->setDataLayout(result.machine->createDataLayout());
  for (llvm::Function &function : *result.module)
    if (!function.isDeclaration())
      function.setDoesNotThrow();
  optimize(*result.module, *result.machine);
  if (!options.metadataSection.empty())
    llvm::embedBufferInModule(*result.module, llvm::MemoryBufferRef(options.metadata, "metadata"),
                              options.metadataSection);
  return result;
}

llvm::Expected<llvm::SmallVector<char, 0>> emit(mlir::ModuleOp module, const ObjectOptions &options,
                                                llvm::CodeGenFileType type) {
  auto generated = generate(module, options);
  if (!generated)
    return generated.takeError();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (generated->machine->addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("target %s cannot write this kind of file", options.triple.c_str());
  passes.run(*generated->module);
  return bytes;
}

} // namespace

void registerObjectTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

llvm::Expected<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module, const ObjectOptions &options) {
  return emit(module, options, llvm::CodeGenFileType::ObjectFile);
}

llvm::Expected<std::string> emitAssembly(mlir::ModuleOp module, const ObjectOptions &options) {
  auto bytes = emit(module, options, llvm::CodeGenFileType::AssemblyFile);
  if (!bytes)
    return bytes.takeError();
  return std::string(bytes->begin(), bytes->end());
}

llvm::Expected<std::string> emitLLVMIR(mlir::ModuleOp module, const ObjectOptions &options) {
  auto generated = generate(module, options);
  if (!generated)
    return generated.takeError();
  std::string text;
  llvm::raw_string_ostream stream(text);
  generated->module->print(stream, nullptr);
  return text;
}

} // namespace moec
