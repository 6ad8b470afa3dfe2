// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generators of the kernels that are not matrix products. Each adds `func.func @name(memref.., index n, index
/// position, index tile_begin, index tile_end)`; memrefs have static maximum shapes and are passed as bare pointers.
/// Every kernel is a fixed sequence of IEEE operations (docs/architecture.md), so results are the same bytes on every
/// ISA. Main source: docs/architecture.md.
#ifndef PASSES_LOWER_KERNELS_FLOATKERNELS_H
#define PASSES_LOWER_KERNELS_FLOATKERNELS_H

#include "lib/Plan/KvLayout.h"
#include "lib/Quant/Encoding.h"
#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace moec {

/// Rows of a table become activations. Memrefs: rows i8 [maxTokens * rowBytes], out f32 [maxTokens][columns].
/// out = the value as stored, or float(code) * f32(scale), with a minimum + f32(minimum); then * multiplier when that
/// is not 1. Tile: one token. Main source: lib/Pack/RowFormat.h.
struct EmbedSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  int64_t rowBytes = 0;
  Encoding encoding;
  float multiplier = 1.0f;
};

/// Rows tokens[i] of a resident matrix in the layout of the ISA's family become activations, by the formula of
/// EmbedSpec. Memrefs: weight i8 [bytes of the layout], tokens i32 [maxTokens] (each below `rows`), out f32
/// [maxTokens][columns]. Tile: one token. Main source: lib/Pack/Layout.h.
struct GatherSpec {
  int64_t maxTokens = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  Encoding encoding;
};

/// The largest value of each tile of MOERT_LOGIT_TILE columns; NaN are passed over, minus infinity where there is
/// nothing else. Memrefs: x f32 [maxTokens][columns], maxima f32 [maxTokens][columns / MOERT_LOGIT_TILE, rounded up].
/// Tile: one token.
struct TileMaxSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
};

/// s = 1 / sqrt(Σx²/columns + eps), y = (x * s) * w, or (x * s) * (w + 1) with unitOffset; Σ by N2, each partial by
/// fma. Memrefs, in order: x f32 [maxTokens][columns], w f32 [columns], y f32 [maxTokens][columns] if storesFloat, and
/// if group > 0 codes i8 [maxTokens][columns], scales f32 [maxTokens][columns/group], sums i32
/// [maxTokens][columns/group]. y may be x. Tile: one token.
struct NormSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  float epsilon = 1e-6f;
  bool unitOffset = false;
  bool storesFloat = true;
  int64_t group = 0;
};

/// Activations to int8 by group: amax = max|x|; below 1e-30 codes and scale are 0; else code = roundeven(x *
/// (127/amax)), scale = amax/127, sum = Σ codes. A NaN becomes -127. Memrefs: x f32 [maxTokens][columns], codes,
/// scales, sums as in NormSpec. Tile: one token.
struct QuantizeSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  int64_t group = 32;
};

/// Head norms, rotary embedding, and append to the KV region at absolute position `position + token`. Memrefs: q f32
/// [maxTokens][heads * keyDim] (changed in place), k f32 [maxTokens][kvHeads * keyDim], v f32 [maxTokens][kvHeads *
/// valueDim], q_norm f32 [keyDim] and k_norm f32 [keyDim] if headNorms, cosine and sine f32 [context][rotaryDim/2],
/// window i32 [4] (moert_kv_window), kv i8 [regionBytes]. Norms as NormSpec over one head. Rotation of the pair
/// (i, i + r), r = rotaryDim/2: out[i] = x[i]*c - x[i+r]*s, out[i+r] = x[i+r]*c + x[i]*s, without fma. i8 codes as
/// QuantizeSpec with one scale for each head. i4: keys are transformed by emitHadamard first; scale = f16(amax/7), at
/// most 65504, code = roundeven(x * (1/scale)) cut to -7..7. Tile: one token.
struct RopeAppendSpec {
  int64_t maxTokens = 0;
  int64_t heads = 0;
  int64_t rotaryDim = 0;
  int64_t context = 0;
  bool headNorms = false;
  float epsilon = 1e-6f;
  bool unitOffset = false;
  KvLayout kv;
};

/// Causal attention of each query, at position p = position + token, with the positions q <= p that its window shows (q
/// > p - window or q < sinks), in blocks of 64 and spans of 512 absolute positions; blocks and spans that show none are
/// passed over. Memrefs: q f32 [maxTokens][heads * keyDim], kv i8 [regionBytes], window i32 [4] (moert_kv_window), o
/// f32 [maxTokens][heads * valueDim]. Query head h reads kv head h / (heads / kvHeads).
///
/// Scores: fma over d ascending, * scale. Integer caches: the query (i4: after emitHadamard) has codes as QuantizeSpec
/// with one scale sq for the head; float(isum) * (key scale * (sq * scale)). Block: m' = max(m, scores), c = exp(m -
/// m'), p = exp(s - m'), l = fma(l, c, Σp by N2), o = fma(p, v, o * c), positions ascending. Integer caches: w = p *
/// value scale; with the largest w of the block, or of the block and group of values, w has codes roundeven(w * (127 /
/// largest)), none if that is below 1e-30; o = fma(float(isum), largest / 127, o * c). Spans are merged ascending: l =
/// fma(l, b, L * a), o = fma(o, b, O * a). At last o / l.
///
/// Tile: the headsEach() heads of unit u, which share a KV head, and one token: u * n + token. With splits, for one
/// token: u * splits + i, the spans from ceil(i * spans / splits) on; in place of o, for each span that shows something
/// in ascending order, sums f32 [maxSpans][heads][valueLanes] and f32 [maxSpans][2][heads]: m and l.
struct AttentionSpec {
  int64_t maxTokens = 0;
  int64_t heads = 0;
  float scale = 1.0f;
  KvLayout kv;
  int64_t splits = 0;
  int64_t maxSpans = 0;

  int64_t headsEach() const;
  int64_t numUnits() const { return heads / headsEach(); }
};

/// Merges the spans that AttentionSpec with splits leaves behind. Memrefs: sums (changed) and stats as there, window
/// i32 [4], o f32 [1][heads * valueDim]. One tile. Of kv only the form of values matters.
struct MergeSpansSpec {
  int64_t heads = 0;
  int64_t maxSpans = 0;
  KvLayout kv;
};

/// What a router makes of its logits before selecting.
enum class RouterScore { none, softmax, sigmoid };

/// Selects the K largest scores, ties to the lowest index, in descending order; 1 <= K <= topK stands in place of n.
/// With renormalize the weights are divided by (the sum of those K in rank order + renormEpsilon); then * factor when
/// that is not 1. Ranks from K on get id -1 and weight 0. A NaN score ranks last; the first K ids are distinct and in
/// range whatever the logits. Memrefs: logits f32 [maxTokens][experts], ids i32 [maxTokens][topK], weights f32
/// [maxTokens][topK]. Tile: one token.
struct RouterSpec {
  int64_t maxTokens = 0;
  int64_t experts = 0;
  int64_t topK = 0;
  RouterScore score = RouterScore::softmax;
  bool renormalize = false;
  float renormEpsilon = 0.0f;
  float factor = 1.0f;
};

/// out = residual + (w0*y0, then fma(wj, yj, acc) in rank order, j < K); 1 <= K <= topK stands in place of n. Memrefs:
/// residual f32 [maxTokens][columns], y f32 [maxTokens * topK][columns], of which ranks from K on are not read, weights
/// f32 [maxTokens][topK], out f32 [maxTokens][columns]; out may be residual. Tile: one token.
struct CombineSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  int64_t topK = 0;
};

/// h = act(gate) * up. Memrefs: gate f32 [maxTokens][columns], up the same, then h f32 [maxTokens][columns], or with
/// group > 0 codes, scales and sums as in NormSpec. Tile: one token.
struct GluSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  int64_t group = 0;
};

/// A function of each value.
enum class Activation { silu, sigmoid };

/// y = x * act(g), or with a residual y = residual + x * act(g), each operation rounded. With isPerToken g has one
/// value a token. Memrefs: x f32 [maxTokens][columns], g f32 [maxTokens][columns or 1], residual f32
/// [maxTokens][columns] if hasResidual, then y f32 [maxTokens][columns], which may be x or residual, or with group > 0
/// codes, scales and sums as in NormSpec. Tile: one token.
struct GateSpec {
  int64_t maxTokens = 0;
  int64_t columns = 0;
  bool isPerToken = false;
  Activation activation = Activation::sigmoid;
  bool hasResidual = false;
  int64_t group = 0;
};

/// Each check says whether a generator takes the spec; a generator is only called with one that passed.
llvm::Error check(const EmbedSpec &spec);
llvm::Error check(const GatherSpec &spec);
llvm::Error check(const TileMaxSpec &spec);
llvm::Error check(const NormSpec &spec);
llvm::Error check(const QuantizeSpec &spec);
llvm::Error checkKvLayout(const KvLayout &kv, int64_t heads);
llvm::Error check(const RopeAppendSpec &spec);
llvm::Error check(const AttentionSpec &spec);
llvm::Error check(const MergeSpansSpec &spec);
llvm::Error check(const RouterSpec &spec);
llvm::Error check(const CombineSpec &spec);
llvm::Error check(const GluSpec &spec);
llvm::Error check(const GateSpec &spec);

mlir::func::FuncOp buildEmbed(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                              const EmbedSpec &spec);
mlir::func::FuncOp buildGather(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                               const GatherSpec &spec);
mlir::func::FuncOp buildTileMax(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                const TileMaxSpec &spec);
mlir::func::FuncOp buildNorm(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name, const NormSpec &spec);
mlir::func::FuncOp buildQuantize(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                 const QuantizeSpec &spec);
mlir::func::FuncOp buildRopeAppend(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                   const RopeAppendSpec &spec);
mlir::func::FuncOp buildAttention(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                  const AttentionSpec &spec);
mlir::func::FuncOp buildMergeSpans(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                   const MergeSpansSpec &spec);
mlir::func::FuncOp buildRouterTopk(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                   const RouterSpec &spec);
mlir::func::FuncOp buildCombine(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                const CombineSpec &spec);
mlir::func::FuncOp buildGlu(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name, const GluSpec &spec);
mlir::func::FuncOp buildGate(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name, const GateSpec &spec);

/// Where quantized activations go: codes i8, scales f32, sums i32.
struct ActivationMemrefs {
  mlir::Value codes;
  mlir::Value scales;
  mlir::Value sums;
};

class FloatBuilder;

/// Emits the quantization of one group (QuantizeSpec) whose values are `vectors` of 16 f32. For kernels that produce
/// activations in registers.
void quantizeGroup(FloatBuilder &builder, llvm::ArrayRef<mlir::Value> vectors, const ActivationMemrefs &out,
                   mlir::Value token, mlir::Value group);
/// Emits one row of `columns` values: `valueAt` computes the vector of a width at a column. With a group they are
/// quantized to the three memrefs of `outs` (QuantizeSpec), else stored to the only one.
void emitRow(FloatBuilder &builder, mlir::Value token, int64_t columns, int64_t group, mlir::ValueRange outs,
             llvm::function_ref<mlir::Value(mlir::Value column, int64_t width)> valueAt);
/// The factor s of NormSpec over `count` values of x from [row.., first] on.
mlir::Value emitNormFactor(FloatBuilder &builder, mlir::Value x, llvm::ArrayRef<mlir::Value> row, mlir::Value first,
                           int64_t count, float epsilon);
/// (x * factor) * w, or * (w + 1), of one vector.
mlir::Value emitNormed(FloatBuilder &builder, mlir::Value x, mlir::Value factor, mlir::Value w, bool unitOffset);
/// Appends the types of codes, scales and sums.
void appendActivationTypes(llvm::SmallVectorImpl<mlir::Type> &types, mlir::Builder &builder, int64_t maxTokens,
                           int64_t columns, int64_t group);

} // namespace moec

#endif
