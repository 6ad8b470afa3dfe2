// SPDX-License-Identifier: Apache-2.0
/// \file
/// `.mlir` text through parser, verifiers and the passes up to a plan.
#include "test/fuzz/Targets.h"

#include "lib/Support/ModuleText.h"
#include "passes/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

using namespace mlir;

namespace moec::fuzz {

namespace {

/// A context keeps every type and attribute that it has ever seen: it is used for so many inputs.
constexpr unsigned kInputsPerContext = 2000;

MLIRContext &freshContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned numInputs = 0;
  if (numInputs++ % kInputsPerContext == 0) {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  }
  return *context;
}

} // namespace

void fuzzModule(Bytes input) {
  // The parser wants a zero behind the text; a copy has one.
  std::string text(reinterpret_cast<const char *>(input.data()), input.size());
  if (llvm::Error error = checkModuleText(text, "input.mlir"))
    return expectMessage(std::move(error));
  MLIRContext &context = freshContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context), "input.mlir");
  if (!module)
    return;
  for (Phase phase : {Phase::Graph, Phase::Quantize, Phase::Fuse, Phase::Plan}) {
    PassManager manager(&context);
    buildPhasePipeline(manager, phase);
    if (failed(manager.run(*module)))
      return;
  }
}

} // namespace moec::fuzz
