// SPDX-License-Identifier: Apache-2.0
/// \file
/// The `rt` dialect: what the device does, on views of one static arena (IR levels L3 and L4).
/// Main source: docs/architecture.md.
#ifndef DIALECTS_RT_RTDIALECT_TD
#define DIALECTS_RT_RTDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::mlir::rt";
  let summary = "memory, pages and parallel work on the device";
  let description = [{
    The planned program: every tensor has become a view with a fixed offset, every step writes to a destination, experts
    are computed in waves as their pages arrive. Sizes are static maxima; how many tokens a call has is known to the
    context. Level L3 has `rt.compute`, level L4 has `rt.launch` of generated kernels in its place.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Rt_Kind : I32EnumAttr<"Kind", "what a compute step does", [
  I32EnumAttrCase<"embed", 0>, I32EnumAttrCase<"norm", 1>, I32EnumAttrCase<"quantize", 2>,
  I32EnumAttrCase<"linear", 3>, I32EnumAttrCase<"rope_append", 4>, I32EnumAttrCase<"attention", 5>,
  I32EnumAttrCase<"route", 6>, I32EnumAttrCase<"gate_up", 7>, I32EnumAttrCase<"down", 8>,
  I32EnumAttrCase<"combine", 9>, I32EnumAttrCase<"glu", 10>, I32EnumAttrCase<"gate", 11>,
  I32EnumAttrCase<"conv", 12>, I32EnumAttrCase<"delta_rule", 13>, I32EnumAttrCase<"gated_norm", 14>,
  I32EnumAttrCase<"delta_step", 15>, I32EnumAttrCase<"gather", 16>, I32EnumAttrCase<"merge_spans", 17>,
  I32EnumAttrCase<"tile_max", 18>]> {
  let cppNamespace = "::mlir::rt";
  let genSpecializedAttr = 0;
}
def Rt_KindAttr : EnumAttr<Rt_Dialect, Rt_Kind, "kind">;

def Rt_Per : I32EnumAttr<"Per", "what the number of tiles is proportional to", [
  I32EnumAttrCase<"call", 0>, I32EnumAttrCase<"token", 1>, I32EnumAttrCase<"expert", 2>,
  I32EnumAttrCase<"ranked_token", 3>]> {
  let cppNamespace = "::mlir::rt";
  let genSpecializedAttr = 0;
}
def Rt_PerAttr : EnumAttr<Rt_Dialect, Rt_Per, "per">;

def Rt_TilesAttr : AttrDef<Rt_Dialect, "Tiles"> {
  let mnemonic = "tiles";
  let summary = "number of tiles of a launched kernel";
  let description = [{
    `count` tiles for each call, token or routed expert. With `ranked_token` they are for each token, and the kernel gets
    the number of router ranks in use (`experts_used` of the context) in place of the number of tokens.

    Example: `#rt.tiles<count = 8, per = token>`
  }];
  let parameters = (ins "int64_t":$count, EnumParameter<Rt_Per>:$per);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

class Rt_Placement<string cppName, string attrMnemonic> : AttrDef<Rt_Dialect, cppName> {
  let mnemonic = attrMnemonic;
}

def Rt_ResidentPlaceAttr : Rt_Placement<"ResidentPlace", "resident_place"> {
  let summary = "placement of a weight in the resident segment";
  let description = [{
    The weight is `bytes` bytes at `offset` of the resident segment, for the whole life of the model.

    Example: `#rt.resident_place<offset = 4096, bytes = 1024>`
  }];
  let parameters = (ins "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_PagedPlaceAttr : Rt_Placement<"PagedPlace", "paged_place"> {
  let summary = "placement of an expert weight in the records of its layer";
  let description = [{
    In each expert's record the matrix is `bytes` bytes at `offset`.

    Example: `#rt.paged_place<offset = 0, bytes = 18432>`
  }];
  let parameters = (ins "int64_t":$offset, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_StreamedPlaceAttr : Rt_Placement<"StreamedPlace", "streamed_place"> {
  let summary = "placement of a table that is read from the pack by rows";
  let description = [{
    The weight is streamed table `table`, `row_bytes` bytes a row.

    Example: `#rt.streamed_place<table = 0, row_bytes = 272>`
  }];
  let parameters = (ins "int64_t":$table, "int64_t":$row_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_ContextType : TypeDef<Rt_Dialect, "Context"> {
  let mnemonic = "context";
  let summary = "the session's context at run time";
  let description = "What the runtime passes to an entry function: `moert_context` of include/moert/Generated.h.";
}

#endif
