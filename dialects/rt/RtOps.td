// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of the `rt` dialect. Main source: docs/architecture.md.
#ifndef DIALECTS_RT_RTOPS_TD
#define DIALECTS_RT_RTOPS_TD

include "dialects/rt/RtDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

def Rt_View : StaticShapeMemRefOf<[F32, I32, I8]>;

def Rt_ArenaOp : Rt_Op<"arena", [Pure]> {
  let summary = "a view of the arena";
  let description = [{
    The bytes from `offset` of the session's arena. With `at_position` the view starts at row `position` of the context,
    for a call that works on some rows of a larger buffer.

    - (C1) the offset is a multiple of 64, from 0

    Example: `%x = rt.arena %context[0] : memref<64x256xf32>`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$offset, UnitAttr:$at_position);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx `[` $offset `]` (`at_position` $at_position^)? attr-dict `:` type($view)";
}

def Rt_ResidentOp : Rt_Op<"resident", [Pure]> {
  let summary = "a view of the resident weights";
  let description = [{
    The bytes from `offset` of the resident segment.

    - (C1) the offset is a multiple of 64, from 0

    Example: `%w = rt.resident %context[4096] : memref<18432xi8>`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$offset);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx `[` $offset `]` attr-dict `:` type($view)";
}

def Rt_KvOp : Rt_Op<"kv", [Pure]> {
  let summary = "a view of the session's KV cache for one layer";
  let description = [{
    The KV region from byte `offset`, the place of a layer in the first block: physical block b, of 64 positions and all
    layers, lies b times the block size further on.

    - (C1) the view is one-dimensional and of bytes, the offset a multiple of 64, from 0

    Example: `%kv = rt.kv %context[9216] : memref<589824xi8>`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$offset);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx `[` $offset `]` attr-dict `:` type($view)";
}

def Rt_KvWindowOp : Rt_Op<"kv_window", [Pure]> {
  let summary = "a view of the numbers that say which positions are seen and where blocks lie";
  let description = [{
    window, sinks, sink_blocks and ring_blocks of the session (`moert_kv_window` of include/moert/KvWindow.h). They are
    known at run time only: a session may have a smaller window than was compiled.

    - (C1) the view is memref<4xi32>

    Example: `%window = rt.kv_window %context : memref<4xi32>`
  }];
  let arguments = (ins Rt_ContextType:$ctx);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx attr-dict `:` type($view)";
}

def Rt_TokensOp : Rt_Op<"tokens", [Pure]> {
  let summary = "a view of the ids of the call's tokens";
  let description = [{
    Ids of the tokens that the call computes, each below the size of the vocabulary: `tokens` of the context.

    - (C1) the view is one-dimensional and of i32

    Example: `%tokens = rt.tokens %context : memref<64xi32>`
  }];
  let arguments = (ins Rt_ContextType:$ctx);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx attr-dict `:` type($view)";
}

def Rt_StateOp : Rt_Op<"state", [Pure]> {
  let summary = "a view of the session's recurrent state for one layer";
  let description = [{
    The bytes from `offset` of the live state. Steps update it in place: before a call it is the state after all earlier
    tokens, after the call that after the call's tokens.

    - (C1) the view is of f32, the offset a multiple of 64, from 0

    Example: `%s = rt.state %context[6144] : memref<4x16x16xf32>`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$offset);
  let results = (outs Rt_View:$view);
  let assemblyFormat = "$ctx `[` $offset `]` attr-dict `:` type($view)";
}

def Rt_ReadRowsOp : Rt_Op<"read_rows"> {
  let summary = "reads the tokens' rows of a streamed table";
  let description = [{
    Row tokens[i] of streamed table `table` is copied to the i-th row of `destination`.

    - (C1) the destination is one-dimensional and of bytes

    Example: `rt.read_rows %context table(0) into %rows : memref<17408xi8>`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$table, Rt_View:$destination);
  let assemblyFormat = "$ctx `table` `(` $table `)` `into` $destination attr-dict `:` type($destination)";
}

def Rt_PollOp : Rt_Op<"poll"> {
  let summary = "a point where a call can be cancelled";
  let description = [{
    Ends the entry function if the session was cancelled.

    - (C1) the layer is from 0

    Example: `rt.poll %context layer(3)`
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$layer);
  let assemblyFormat = "$ctx `layer` `(` $layer `)` attr-dict";
}

def Rt_ComputeOp : Rt_Op<"compute", [AttrSizedOperandSegments]> {
  let summary = "one step of arithmetic on views";
  let description = [{
    Reads `ins`, writes `outs`. The kind says what is computed and `spec` with which constants; both are what a kernel is
    generated from, so equal steps share one kernel.

    | kind | ins | outs | spec |
    |---|---|---|---|
    | embed | rows | x | columns, row_bytes, encoding |
    | gather | weight, tokens | x | rows, columns, encoding |
    | tile_max | logits | maxima of tiles of MOERT_LOGIT_TILE columns | |
    | norm | x, weight | [y] [codes, scales, sums] | eps, unit_offset, group, emit_float |
    | quantize | x | codes, scales, sums | group |
    | linear | weight, x or (codes, scales, sums), [bias], [residual] | y | rows, columns, encoding, bias, residual |
    | rope_append | q, k, v, [q_norm, k_norm], cos, sin, window | kv | heads, kv_heads, qk_dim, v_dim, dim, eps, norms, unit_offset, elem, block_bytes |
    | attention | q, kv, window | o, or with splits sums, stats | heads, kv_heads, qk_dim, v_dim, scale, elem, block_bytes, splits |
    | merge_spans | sums, stats, window | o | heads, v_dim, elem |
    | route | logits | ids, weights | experts, k, score, renormalize, renorm_eps, factor |
    | gate_up | record, pairs, x or (codes, scales, sums), [the same for up] | h or (codes, scales, sums) | inner, hidden, encoding, up_encoding, down_group, gate_offset, up_offset, top_k |
    | down | record, pairs, h or (codes, scales, sums) | y | inner, hidden, encoding, down_offset, top_k |
    | combine | residual, y, weights | x | k |
    | glu | gate, up | h or (codes, scales, sums) | glu, group |
    | gate | x, g, [residual] | y or (codes, scales, sums) | activation, group, residual |
    | conv | x, weight | y, state | silu, encoding |
    | delta_rule | q, k, v, a, b, a_log, dt_bias | o, state | key_heads, value_heads, qk_dim, v_dim, l2_eps, scale, head_map |
    | gated_norm | o, z, weight | y or (codes, scales, sums) | value_heads, v_dim, eps, activation, group |
    | delta_step | q, k, v, z, a, b, q_conv, k_conv, v_conv, a_log, dt_bias, weight | y or (codes, scales, sums), q_state, k_state, v_state, state | those of conv, delta_rule and gated_norm |

    An encoding is `f32`, `f16`, `i8/G`, `i6/G`, `i4/G`, `i8m/G` or `i4m/G`; `encoding` of gate_up is that of gate;
    `down_group` is 0 where `down` is no integer. Up has activations of its own where it reads another form than gate.
    With a `group` above 0 a step quantizes its result in that group. States are read and replaced; delta_step leaves
    the convolved q, k and v, and o in place of v, in its ins. With `splits` above 0 an attention of one token leaves o,
    m and l of each span of 512 positions; merge_spans overwrites the first of the sums.

    - (C1) the spec has every key of its kind
    - (C2) there are at least as many operands as the kind needs

    Example:
    ```mlir
    rt.compute quantize ins(%x : memref<64x256xf32>)
      outs(%codes, %scales, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>) spec {group = 32 : i64}
    ```
  }];
  let arguments = (ins Rt_KindAttr:$kind, Variadic<Rt_View>:$ins, Variadic<Rt_View>:$outs, DictionaryAttr:$spec);
  let assemblyFormat = [{
    $kind `ins` `(` $ins `:` type($ins) `)` `outs` `(` $outs `:` type($outs) `)` `spec` $spec attr-dict
  }];
}

def Rt_ParallelOp : Rt_Op<"parallel", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "independent compute steps in one task region";
  let description = [{
    The steps do not depend on each other; their tiles form one region with one join at its end.

    - (C1) the region holds `rt.compute` only, at least one

    Example:
    ```mlir
    rt.parallel {
      rt.compute quantize ins(%x : memref<64x256xf32>)
        outs(%codes, %scales, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>) spec {group = 32 : i64}
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 0;
}

def Rt_ExpertsOp : Rt_Op<"experts", [SingleBlock, NoTerminator]> {
  let summary = "computes the routed experts of a layer in waves";
  let description = [{
    The pager is told which experts the tokens need; the body runs for each wave of resident experts, as one task region:
    gate_up of all experts of the wave at once, down of an expert as soon as its gate_up is done. Its arguments are the
    record of an expert and the (token, rank) pairs routed to it. Steps that depend on no expert may stand there in an
    `rt.parallel`; they run in the region of the first wave. Any `rt.prefetch` runs before it.

    - (C1) the body has two arguments, both one-dimensional: the record (bytes) and the pairs (i32)
    - (C2) the body holds `rt.compute` of kinds gate_up and down, each at most once and in this order, or in place of them
      at most two `rt.launch` of one kernel with tiles for each expert; and at most one `rt.parallel` or other `rt.launch`,
      which does not use the arguments
    - (C3) it holds at most one `rt.prefetch` for a layer, which does not use the arguments

    Example:
    ```mlir
    rt.experts %context layer(0) ids(%ids : memref<64x4xi32>) {
    ^bb0(%record : memref<65536xi8>, %pairs : memref<256xi32>):
      rt.compute down ins(%record, %pairs, %h : memref<65536xi8>, memref<256xi32>, memref<256x128xf32>)
        outs(%y : memref<256x256xf32>) spec {inner = 128 : i64, hidden = 256 : i64, encoding = "f32",
        down_offset = 0 : i64, top_k = 4 : i64}
    }
    ```
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$layer, Rt_View:$ids);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$ctx `layer` `(` $layer `)` `ids` `(` $ids `:` type($ids) `)` $body attr-dict";
}

def Rt_PrefetchOp : Rt_Op<"prefetch", [SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "guesses experts of a layer and has them read ahead";
  let description = [{
    The runtime is asked whether a guess for `layer` may pay; only then the steps of the body run, one after the other,
    and leave the experts in `ids`, best first. Those are read while nothing else is to be read, until the layer's own
    router has spoken. Nothing depends on the guess but time. In the body of `rt.experts` it runs once, behind the reads
    of that layer's own experts and before the first wave.

    - (C1) the ids are one row of i32
    - (C2) the layer is from 0
    - (C3) the body holds `rt.compute` or `rt.launch` only, at least one

    Example:
    ```mlir
    rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
      rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
        spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
    ```
  }];
  let arguments = (ins Rt_ContextType:$ctx, I64Attr:$layer, Rt_View:$ids);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$ctx `layer` `(` $layer `)` `ids` `(` $ids `:` type($ids) `)` $body attr-dict";
}

def Rt_LaunchOp : Rt_Op<"launch"> {
  let summary = "runs kernels over their tiles as one task region";
  let description = [{
    Kernel i gets the next `segments[i]` of `args` and runs over `tiles[i]` tiles; the tiles of all kernels form one
    region that the thread pool works through, with one join if there is more than one tile.

    - (C1) there are as many segments and tiles as kernels, and the segments add up to the arguments
    - (C2) every kernel is a function of the module `@kernels`

    Example:
    ```mlir
    rt.launch [@kernels::@quantize_0] tiles [#rt.tiles<count = 1, per = token>] segments [4]
      args(%x, %codes, %scales, %sums : memref<64x256xf32>, memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>)
    ```
  }];
  let arguments = (ins SymbolRefArrayAttr:$kernels, ArrayAttr:$tiles, DenseI64ArrayAttr:$segments, Variadic<Rt_View>:$args);
  let assemblyFormat = "$kernels `tiles` $tiles `segments` $segments `args` `(` $args `:` type($args) `)` attr-dict";
  let extraClassDeclaration = [{
    /// Whether the first kernel has tiles for each expert: then the launch is one of a chain of experts.
    bool isPerExpert();
  }];
}

#endif
