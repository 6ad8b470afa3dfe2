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
    a `moe.quantize_act` (`f16` products read plain activations). Presets: `f32` leaves everything; `f16`, `int8`, `int6`
    and `int4` encode embedding, head and all linear weights, `int8m` and `int4m` with a minimum beside each scale; `mixed`
    gives embedding, head, V and O int8 and all others int4. Router and norms stay f32.
    *Assumes*: verified L1. *Refuses*: an unknown preset, a group that does not divide a weight's columns (by name).
    Empty options are taken from the module attribute `moe.options`. *Source*: docs/architecture.md, "Precision".

    Example: `moe-opt --moe-assign-precision="preset=int4 group=32" model.mlir`
  }];
  let options = [
    Option<"preset", "preset", "std::string", "\"\"", "f32, f16, int8, int6, int4, int8m, int4m or mixed">,
    Option<"group", "group", "std::string", "\"\"", "auto, 32, 64 or 128 values that share a scale">];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

def InsertKvQuantization : Pass<"moe-insert-kv-quantization", "::mlir::ModuleOp"> {
  let summary = "sets how the KV caches keep keys and values";
  let description = [{
    *Before*: caches of f32. *After*: every `!moe.cache` has the element type `elem`; append and attention convert.
    *Assumes*: verified L1 or L2. *Refuses*: an unknown element type. An empty option is taken from `moe.options`.
    *Source*: docs/architecture.md, "KV cache".

    Example: `moe-opt --moe-insert-kv-quantization=elem=int8 model.mlir`
  }];
  let options = [Option<"elem", "elem", "std::string", "\"\"", "f32, f16, int8 or int4">];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

#endif
