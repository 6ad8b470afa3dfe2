// SPDX-License-Identifier: Apache-2.0
/// \file
/// Turns a checked checkpoint into a module of `moe` operations (level L1). The last part of the import step. Main
/// source: transformers' `models/<model_type>/modeling_*.py`.
#ifndef LIB_IMPORT_GRAPHBUILDER_H
#define LIB_IMPORT_GRAPHBUILDER_H

#include "lib/Import/Checkpoint.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace moec {

struct GraphOptions {
  /// Positions that the KV caches hold, rounded up to a multiple of 64; 0: as many as the model was made for.
  uint64_t context = 0;
  /// Most tokens in one call of @prefill; at most the context counts. Nothing: `defaultChunk`.
  std::optional<uint64_t> maxChunk;
  /// Positions that a token sees, its own included, and first positions that it always sees; window 0: as the model was
  /// made, by default all.
  uint64_t window = 0, sinks = 0;
  /// Stands in `moe.model` as `name`; empty: the last part of the folder's path.
  std::string name;
};

/// The chunk of a model unless one is asked for: 64 to 2048 tokens, a power of two. A chunk reads every expert that one
/// of its tokens is routed to, and with many tokens that is all of them: under a budget a prompt reads the pack once a
/// chunk. So it is as large as its rows of expert outputs, f32 [chunk * top-k, hidden], take at most one byte for every
/// 128 weights of routed experts: about 1.5 % of their bytes at 4 bits.
uint64_t defaultChunk(const ModelConfig &config);

/// Builds the module. No weight is read, but every file is hashed.
///
/// Module attributes: moe.files = [{path, size : i64, hash}] (the weight files), moe.tokenizer = {path, size, hash};
/// both with a `kind` where the compiler generates the content: "random:SEED" (and more) or "bytes";
/// moe.model = {architecture, name, and i64 vocab_size, hidden_size, num_layers, num_heads, num_kv_heads, head_dim,
/// num_experts, top_k, expert_size}, moe.generation = {temperature : f64, top_k : i64, top_p : f64, stop_ids =
/// array<i64>}, moe.context, moe.chunk, moe.window and moe.sinks : i64.
/// num_experts, top_k and expert_size are 0 where no layer has experts.
/// Weights: @embed, @output_norm, @output_head (a tied head has the source of the embedding), and for layer l under
/// @layers.<l>: attention_norm, ffn_norm; attention has q, k, v, o, where the model has them q_norm, k_norm, q_bias,
/// k_bias, v_bias, o_bias, attention_gate; Gated DeltaNet has delta.{q, k, v, gate, a, b, conv_q, conv_k, conv_v,
/// a_log, dt_bias, norm, out}; a dense network ffn.{gate, up, down}; experts router, experts.{gate, up, down}, and
/// where the model has a shared expert shared.{gate, up, down, router}. Functions: @prefill(tokens, position, states…)
/// -> (hidden, states…), @decode (one token), @head(hidden) -> logits. The states are those of each layer in order: a
/// cache of attention; of Gated DeltaNet those of the convolutions of q, k and v, then that of the delta rule. Errors:
/// a context beyond max_position_embeddings, a window or sinks beyond the context, a chunk of 0, a file that cannot be
/// hashed.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModelModule(mlir::MLIRContext &context, const Checkpoint &checkpoint, const GraphOptions &options = {});

} // namespace moec

#endif
