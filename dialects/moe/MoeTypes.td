// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types of the `moe` dialect: KV caches and recurrent states, both linear values (each is used once).
/// Main source: docs/architecture.md.
#ifndef DIALECTS_MOE_MOETYPES_TD
#define DIALECTS_MOE_MOETYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/moe/MoeAttributes.td"

class Moe_Type<string cppName, string typeMnemonic> : TypeDef<Moe_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}

def Moe_CacheType : Moe_Type<"Cache", "cache"> {
  let summary = "KV cache of one layer";
  let description = [{
    Keys and values of up to `capacity` positions. `elem` is how they are kept: `f32`, `f16`, `i8` with one scale per
    (token, head), or `i4`: keys transformed by a Hadamard matrix with one scale per (token, head), values with one per
    (token, head, 32 columns), see lib/Plan/KvLayout.h. With `window` > 0 a token at position p sees the positions q <= p
    with q > p - window or q < `sinks`. A cache is linear: each value is used once.

    Example: `!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = i8>`
  }];
  let parameters = (ins "int64_t":$kv_heads, "int64_t":$qk_dim, "int64_t":$v_dim, "int64_t":$capacity, "::mlir::Type":$elem, DefaultValuedParameter<"int64_t", "0">:$window, DefaultValuedParameter<"int64_t", "0">:$sinks);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Moe_StateType : Moe_Type<"State", "state"> {
  let summary = "recurrent state of one layer";
  let description = [{
    A state that each token replaces (convolution inputs, delta-rule memory): zeros before the first token, at most 2^40
    values. Linear, like a cache.

    Example: `!moe.state<shape = [32, 128, 128], elem = f32>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elem);
  let assemblyFormat = "`<` `shape` `=` `[` $shape `]` `,` `elem` `=` $elem `>`";
  let genVerifyDecl = 1;
}

#endif
