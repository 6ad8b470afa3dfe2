// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the quantize stage. Main source: docs/architecture.md.
#ifndef PASSES_QUANTIZE_PASSES_TD
#define PASSES_QUANTIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignPrecision : Pass<"moe-assign-precision", "::mlir::ModuleOp"> {
  let summary = "gives each weight an encoding by its role and quantizes the activations that meet quantized weights";
  let description = [{
    *Before*: L1, f32 weights. *After*: `moe.weight` types carry `#moe.q`, and each product with an integer weight reads
    a `moe.quantize_act` (`f16` products read plain activations). First the preset: `f32` leaves everything; `f16`, `int8`,
    `int6` and `int4` encode embedding, head and all linear weights, `int8m` and `int4m` with a minimum beside each scale;
    `mixed` gives embedding, head, V and O int8 and all others int4; `source` keeps what the checkpoint has. A weight of a
    block type in the encoding of its own codes has the recipe `verbatim`, others `round_to_nearest`. Then the rules of the module attribute
    `moe.precision`, in order, a later one wins (the embedding of a tied model gets what the head gets, unless a rule selects it alone); each selects weights by `roles`, `layers`, `tensor` and `experts`. Vectors
    and the router stay f32. With the group `auto` groups have 32 columns, and rows that 32 does not divide become f16.
    *Assumes*: verified L1. *Refuses*: unknown presets, groups, roles and encodings, fewer than 4 bits, a group that does
    not divide a weight's columns (by name), a rule that selects nothing or only some experts of a layer (by its number).
    Empty options are taken from the module attribute `moe.options`. *Source*: docs/precision.md.

    Example: `moe-opt --moe-assign-precision="preset=int4 group=32" model.mlir`
  }];
  let options = [
    Option<"preset", "preset", "std::string", "\"\"", "f32, f16, int8, int6, int4, int8m, int4m, mixed or source">,
    Option<"group", "group", "std::string", "\"\"", "auto, 32, 64 or 128 values that share a scale">];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

def InsertKvQuantization : Pass<"moe-insert-kv-quantization", "::mlir::ModuleOp"> {
  let summary = "sets how the KV caches keep keys and values";
  let description = [{
    *Before*: caches of f32. *After*: every `!moe.cache` has the element type `elem`; append converts;
    attention converts f16, and multiplies the codes of int8 and int4.
    *Assumes*: verified L1 or L2. *Refuses*: an unknown element type. An empty option is taken from `moe.options`.
    *Source*: docs/architecture.md, "KV cache".

    Example: `moe-opt --moe-insert-kv-quantization=elem=int8 model.mlir`
  }];
  let options = [Option<"elem", "elem", "std::string", "\"\"", "f32, f16, int8 or int4">];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

#endif
