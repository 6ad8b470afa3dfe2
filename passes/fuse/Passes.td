// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the fuse stage. Each replaces a composition by one op of equal value, but for the one that adds guesses. Main source: docs/architecture.md.
#ifndef PASSES_FUSE_PASSES_TD
#define PASSES_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

class FusePass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

def FuseResidual : FusePass<"moe-fuse-residual"> {
  let summary = "adds the residual inside the product that it follows";
  let description = [{
    *Before*: `arith.addf(r, moe.linear(x, w))`, the same with `moe.experts` and `moe.gate`. *After*: the product with `residual(r)`.
    *Assumes*: verified L1 or L2. *Refuses*: nothing; a product that has other uses, or a residual already, is left.
    *Source*: docs/architecture.md, "Fusion".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-residual))" model.mlir`
  }];
}

def FuseMultiLinear : FusePass<"moe-fuse-multi-linear"> {
  let summary = "joins products of the same activation into one task region";
  let description = [{
    *Before*: several `moe.linear` of one encoded or plain x, without residual (Q, K, V), all with a bias or none. *After*: one
    `moe.multi_linear`. *Assumes*: verified L1 or L2. *Refuses*: nothing. *Source*: docs/architecture.md, "Fusion".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-multi-linear))" model.mlir`
  }];
}

def FuseNormQuantize : FusePass<"moe-fuse-norm-quantize"> {
  let summary = "lets a normalization emit the int8 activation of its result";
  let description = [{
    *Before*: `moe.quantize_act(moe.rms_norm(x))` over whole rows. *After*: `moe.norm_quantize`; other users of the norm
    take its float result. *Assumes*: verified L2. *Refuses*: nothing. *Source*: docs/architecture.md, "Fusion".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-norm-quantize))" model.mlir`
  }];
}

def FuseRopeAppend : FusePass<"moe-fuse-rope-append"> {
  let summary = "joins head norms, rotary embedding and cache append";
  let description = [{
    *Before*: `moe.cache_append(c, rope(norm(k)), v)` and `moe.attention(rope(norm(q)), …)` of it, norms optional.
    *After*: `moe.rope_append` before the attention. *Assumes*: verified L1 or L2. *Refuses*: nothing; differing rotary
    parameters of q and k are left; norms that differ, or are over all heads, stay before it. *Source*: docs/architecture.md, "Fusion".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-rope-append))" model.mlir`
  }];
}

def FuseRouterTopk : FusePass<"moe-fuse-router-topk"> {
  let summary = "joins the router's product with score and selection";
  let description = [{
    *Before*: `moe.route(moe.linear(x, w))`, f32. *After*: `moe.router_topk`. *Assumes*: verified L1 or L2. *Refuses*:
    nothing; a product with other uses is left. *Source*: docs/architecture.md, "Fusion".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-router-topk))" model.mlir`
  }];
}

def FuseDeltaStep : FusePass<"moe-fuse-delta-step"> {
  let summary = "joins the parts of a Gated DeltaNet layer between its projections";
  let description = [{
    *Before*: `moe.gated_norm(moe.delta_rule(l2_norm(conv(q)), l2_norm(conv(k)), conv(v), decay(a), sigmoid(b)), z)`, the
    convolutions with silu. *After*: one `moe.delta_step`. *Assumes*: verified L1 or L2. *Refuses*: nothing; a composition
    whose parts have other uses, other blocks or other kinds than those of the op is left. *Source*:
    docs/architecture.md, "Recurrent layers".

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-fuse-delta-step))" model.mlir`
  }];
}

def InsertPrediction : FusePass<"moe-insert-prediction"> {
  let summary = "guesses the experts of each layer ahead of its router";
  let description = [{
    *Before*: L2, fused; `moe.router_topk` of a norm of a residual sum. *After*: for functions of one token and each layer
    with experts, `moe.predict_experts` on an earlier value of that sum: `far`, before the experts of the layer two
    before were added; `early`, before those of the layer before were; `late`, with all of the layer before, when only the
    layer's own attention is missing; or `on`, at all three places. Results are the same. An empty option is taken from
    `moe.options`, where nothing means `on`. *Assumes*: verified L2. *Refuses*: unknown points. A layer
    whose norm is not found is left alone. *Source*: docs/prediction.md.

    Example: `moe-opt --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=late}))" model.mlir`
  }];
  let options = [Option<"points", "points", "std::string", "", "on, far, early, late or off">];
}

#endif
