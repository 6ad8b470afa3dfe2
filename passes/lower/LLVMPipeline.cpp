// SPDX-License-Identifier: Apache-2.0
/// \file
/// The list of passes from structured code to the LLVM dialect. Step: lower. Main source: docs/architecture.md.
#include "passes/lower/LLVMPipeline.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace moec {

void buildLLVMPipeline(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createConvertVectorToSCFPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(memref::createExpandStridedMetadataPass());
  passes.addPass(createLowerAffinePass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

llvm::Error lowerToLLVMDialect(ModuleOp module) {
  PassManager passes(module.getContext());
  buildLLVMPipeline(passes);
  if (failed(passes.run(module)))
    return llvm::createStringError("the lowering to the LLVM dialect failed; see the diagnostics before this line");
  return llvm::Error::success();
}

void registerLLVMPipelineDialects(DialectRegistry &registry) {
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
}

} // namespace moec
