// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes an object with every kernel of the catalog for one ISA level. Main source: test/unit/FloatKernels/Catalog.h.
#include "lib/Object/Object.h"
#include "passes/lower/LLVMPipeline.h"
#include "passes/lower/kernels/DeltaKernels.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "test/unit/FloatKernels/Catalog.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace moec;

namespace {

void require(llvm::Error error) {
  if (!error)
    return;
  llvm::errs() << llvm::toString(std::move(error)) << "\n";
  exit(1);
}

KvLayout layoutOf(const KvShape &shape, KvElement element) {
  return {shape.kvHeads,      shape.keyDim,      shape.valueDim,     element,
          shape.blockBytes(), shape.layerOffset, shape.regionBytes()};
}

Encoding encodingOf(llvm::StringRef name, int64_t group) {
  std::string full = name.starts_with("f") ? name.str() : (name + "/" + llvm::Twine(group)).str();
  return llvm::cantFail(parseEncoding(full));
}

void buildDelta(KernelContext &context, ModuleOp module, llvm::StringRef name, const DeltaSpec &spec) {
  require(check(spec));
  ConvSpec keys{spec.maxTokens, spec.keyColumns(), spec.length, true};
  ConvSpec values{spec.maxTokens, spec.valueColumns(), spec.length, true};
  buildConv(context, module, (name + "_conv_keys").str(), keys);
  buildConv(context, module, (name + "_conv_values").str(), values);
  buildDeltaRule(context, module, (name + "_rule").str(), spec);
  buildGatedNorm(context, module, (name + "_norm").str(), spec);
  buildDeltaStep(context, module, (name + "_step").str(), spec);
}

void buildAttentions(KernelContext &context, ModuleOp module, llvm::StringRef name, int64_t heads, const KvLayout &kv) {
  AttentionSpec spec{kMaxTokens, heads, 1.0f / std::sqrt((float)kv.keyDim), kv};
  require(check(spec));
  buildAttention(context, module, name, spec);
  spec.maxTokens = 1;
  spec.splits = kSplits;
  spec.maxSpans = kMaxSpans;
  require(check(spec));
  buildAttention(context, module, (name + "_split").str(), spec);
  MergeSpansSpec merge{heads, kMaxSpans, kv};
  require(check(merge));
  buildMergeSpans(context, module, (name + "_merge").str(), merge);
}

Isa isaOf(llvm::StringRef level) {
  return level == "arm64"     ? Isa::Dotprod
         : level == "neon"    ? Isa::Neon
         : level == "avx512"  ? Isa::Avx512Vnni
         : level == "avxvnni" ? Isa::AvxVnni
                              : Isa::Avx2;
}

void buildAll(KernelContext &context, ModuleOp module) {
#define BUILD(function, name, ...)                                                                                     \
  {                                                                                                                    \
    __VA_ARGS__;                                                                                                       \
    require(check(spec));                                                                                              \
    function(context, module, #name, spec);                                                                            \
  }
#define EMBED(name, encoding, columns, rowBytes, group, multiplier)                                                    \
  BUILD(buildEmbed, name, EmbedSpec spec{kMaxTokens, columns, rowBytes, encodingOf(#encoding, group), multiplier})
  EMBED_KERNELS(EMBED)
#define NORM(name, columns, unitOffset, storesFloat, group)                                                            \
  BUILD(buildNorm, name, NormSpec spec{kMaxTokens, columns, 1e-6f, unitOffset, storesFloat, group})
  NORM_KERNELS(NORM)
#define QUANTIZE(name, columns, group) BUILD(buildQuantize, name, QuantizeSpec spec{kMaxTokens, columns, group})
  QUANTIZE_KERNELS(QUANTIZE)
#define KV(kvHeads, keyDim, valueDim, kind, layerOffset)                                                               \
  layoutOf(KvShape{kvHeads, keyDim, valueDim, element::kind, layerOffset}, KvElement::kind)
#define ROPE(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset, rotaryDim, headNorms, unitOffset)              \
  BUILD(buildRopeAppend, name,                                                                                         \
        RopeAppendSpec spec{kMaxTokens, heads, rotaryDim, kContext, headNorms, 1e-6f, unitOffset,                      \
                            KV(kvHeads, keyDim, valueDim, kind, layerOffset)})
  ROPE_KERNELS(ROPE)
#define ATTENTION(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset)                                           \
  buildAttentions(context, module, #name, heads, KV(kvHeads, keyDim, valueDim, kind, layerOffset));
  ATTENTION_KERNELS(ATTENTION)
#define ROUTER(name, experts, topK, kind, renormalize, renormEpsilon, factor)                                          \
  BUILD(buildRouterTopk, name,                                                                                         \
        RouterSpec spec{kMaxTokens, experts, topK, RouterScore::kind, renormalize, renormEpsilon, factor})
  ROUTER_KERNELS(ROUTER)
#define COMBINE(name, columns, topK) BUILD(buildCombine, name, CombineSpec spec{kMaxTokens, columns, topK})
  COMBINE_KERNELS(COMBINE)
#define GLU(name, columns, group) BUILD(buildGlu, name, GluSpec spec{kMaxTokens, columns, group})
  GLU_KERNELS(GLU)
#define GATE(name, columns, isPerToken, activation, hasResidual, group)                                                \
  BUILD(buildGate, name, GateSpec spec{kMaxTokens, columns, isPerToken, Activation::activation, hasResidual, group})
  GATE_KERNELS(GATE)
#define DELTA(name, keyHeads, valueHeads, keyDim, valueDim, length, perChannel, tiled, sigmoid, group)                 \
  buildDelta(context, module, #name,                                                                                   \
             DeltaSpec{kDeltaTokens, keyHeads, valueHeads, keyDim, valueDim,                                           \
                       (perChannel) ? (valueHeads) * (keyDim) : (valueHeads), valueHeads, length, 1e-6f, 0.125f,       \
                       1e-6f, tiled, true, sigmoid, group});
  DELTA_KERNELS(DELTA)
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: float-kernels-generator LEVEL TRIPLE FEATURES OUT.o\n";
    return 2;
  }
  DialectRegistry registry;
  registerLLVMPipelineDialects(registry);
  registerObjectTranslations(registry);
  MLIRContext mlirContext(registry);
  mlirContext.loadAllAvailableDialects();
  OpBuilder builder(&mlirContext);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  KernelContext context{builder, builder.getUnknownLoc(), isaOf(argv[1])};
  buildAll(context, *module);
  if (failed(verify(*module)))
    return 1;
  require(lowerToLLVMDialect(*module));
  auto object = emitObject(*module, {argv[2], "generic", argv[3]});
  require(object.takeError());
  std::error_code code;
  llvm::raw_fd_ostream(argv[4], code).write(object->data(), object->size());
  return code ? 1 : 0;
}
