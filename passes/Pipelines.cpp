// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stages' pass pipelines. Main source: passes/Phases.def.
#include "passes/Pipelines.h"

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"
#include "passes/fuse/Passes.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/lower/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/quantize/Passes.h"
#include "passes/verify/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace moec {

namespace {
struct PhaseEntry {
  Phase phase;
  const char *name;
};
constexpr PhaseEntry kPhases[] = {
#define MOEC_PHASE(name, enumerator, leaves) {Phase::enumerator, name},
#include "passes/Phases.def"
};
} // namespace

llvm::StringRef phaseName(Phase phase) {
  for (const PhaseEntry &entry : kPhases)
    if (entry.phase == phase)
      return entry.name;
  return "";
}

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (const PhaseEntry &entry : kPhases)
    if (name == entry.name)
      return entry.phase;
  return std::nullopt;
}

std::string phaseNames() {
  std::string names;
  for (const PhaseEntry &entry : kPhases)
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

static void checkLevel(OpPassManager &manager, const char *level) {
  moe::VerifyLevelOptions options;
  options.level = level;
  manager.addPass(moe::createVerifyLevel(options));
}

static void buildFuse(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCSEPass());
  functions.addPass(moe::createFuseResidual());
  functions.addPass(moe::createFuseRouterTopk());
  functions.addPass(moe::createFuseDeltaStep());
  functions.addPass(moe::createFuseNormQuantize());
  functions.addPass(moe::createFuseMultiLinear());
  functions.addPass(moe::createFuseRopeAppend());
  functions.addPass(moe::createInsertPrediction());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

void buildPhasePipeline(OpPassManager &manager, Phase phase) {
  switch (phase) {
  case Phase::Import:
    return checkLevel(manager, "L1");
  case Phase::Graph:
    manager.nest<func::FuncOp>().addPass(createCanonicalizerPass());
    manager.nest<func::FuncOp>().addPass(createCSEPass());
    return checkLevel(manager, "L1");
  case Phase::Quantize:
    manager.addPass(moe::createAssignPrecision());
    manager.addPass(moe::createInsertKvQuantization());
    return checkLevel(manager, "L2");
  case Phase::Fuse:
    buildFuse(manager);
    return checkLevel(manager, "L2");
  case Phase::Plan:
    manager.addPass(moe::createPlaceWeights());
    manager.addPass(moe::createPlanMemory());
    manager.addPass(moe::createCheckPlan());
    return checkLevel(manager, "L3");
  case Phase::Lower:
    // A plan may have been read from a file: nothing is lowered that reaches beyond its regions.
    manager.addPass(moe::createCheckPlan());
    manager.addPass(moe::createGenerateKernels());
    buildLLVMPipeline(manager.nest<ModuleOp>());
    manager.addPass(moe::createLowerEntries());
    return checkLevel(manager, "L5");
  case Phase::Object:
  case Phase::Pack:
  case Phase::Link:
    return;
  }
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<moe::MoeDialect, rt::RtDialect, arith::ArithDialect, func::FuncDialect, scf::SCFDialect,
                  vector::VectorDialect, memref::MemRefDialect, math::MathDialect, LLVM::LLVMDialect,
                  arm_neon::ArmNeonDialect, x86vector::X86VectorDialect>();
}

void registerPasses() {
  moe::registerQuantizePasses();
  moe::registerFusePasses();
  moe::registerPlanPasses();
  moe::registerLowerPasses();
  moe::registerVerifyPasses();
  mlir::registerTransformsPasses();
  for (const PhaseEntry &entry : kPhases)
    PassPipelineRegistration<>(("moe-stage-" + std::string(entry.name)),
                               ("the stage " + std::string(entry.name)).c_str(),
                               [phase = entry.phase](OpPassManager &manager) { buildPhasePipeline(manager, phase); });
}

} // namespace moec
