// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `moe` dialect: what an MoE transformer computes, on tensors with value semantics and without addresses (IR levels
/// L1 and L2). Main source: docs/architecture.md.
#ifndef DIALECTS_MOE_MOEDIALECT_TD
#define DIALECTS_MOE_MOEDIALECT_TD

include "mlir/IR/OpBase.td"

def Moe_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::mlir::moe";
  let summary = "Mixture-of-Experts transformer graphs";
  let description = [{
    The graph of a Mixture-of-Experts transformer. Activations are `tensor<?xHxf32>` with one row a token; weights are
    `moe.weight` symbols that say where the bytes lie, never payload; KV caches are linear values. How a tensor is
    stored is the encoding of its type (`#moe.q`, `#moe.act`), so precision can differ by tensor.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

#endif
