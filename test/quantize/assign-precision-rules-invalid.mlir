// SPDX-License-Identifier: Apache-2.0
// Rules that cannot be followed are refused by their number, with what the model has and what to do.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-assign-precision

// expected-error @+1 {{rule 2 names the role 'expert_dwn', expects one of embedding, head, norm,}}
module attributes {moe.precision = [{roles = "attention_q", encoding = "i8/32"}, {roles = "expert_dwn", encoding = "i8/32"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 cannot be followed: expected an encoding f32, f16, i8/G, i6/G,}}
module attributes {moe.precision = [{roles = "attention_q", encoding = "i8/48"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 cannot be followed: 'i2/32' has 2 bits: 4 bits are the floor for quality; at the same size a smaller model}}
module attributes {moe.precision = [{roles = "attention_q", encoding = "i2/32"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 names layer 4, which is out of range: the model has layers 0 to 1}}
module attributes {moe.precision = [{layers = "0-4", encoding = "i8/32"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 layers is '3-1', expects numbers and ranges such as 0-3,7}}
module attributes {moe.precision = [{layers = "3-1", encoding = "i8/32"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 2 matches no tensor of the model}}
module attributes {moe.precision = [{layers = "1", encoding = "i8/32"}, {tensor = "*.w.weight", encoding = "i8/32"}]} {
moe.weight @q : tensor<64x256xf32> role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 cannot be followed: 'q' has 96 columns, which group 64 does not divide}}
module attributes {moe.precision = [{roles = "attention_q", encoding = "i8/64"}]} {
moe.weight @q : tensor<64x96xf32> role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{rule 1 selects only 'r' and the like, which stay f32 or become f16: the router chooses the experts}}
module attributes {moe.precision = [{roles = "router", encoding = "i8/32"}]} {
moe.weight @r : tensor<4x256xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// One weight holds the experts of a layer, so they cannot differ.
// expected-error @+1 {{rule 1 selects experts 0-1 of layer 3, but not 2-3 ('model.3.*.down'): the experts of a layer share one encoding}}
module attributes {moe.precision = [{experts = "0-1", encoding = "i8/32"}]} {
moe.weight @d : tensor<4x256x128xf32> role(expert_down) layer(3) source(<dtype = "bf16", files = [0], offsets = [0], name = "model.3.{}.down">)
}

// -----

// expected-error @+1 {{rule 1 selects experts 2 of layer 3, but not 0-1,3 ('model.3.*.down')}}
module attributes {moe.precision = [{tensor = "model.3.2.down", encoding = "i8/32"}]} {
moe.weight @d : tensor<4x256x128xf32> role(expert_down) layer(3) source(<dtype = "bf16", files = [0], offsets = [0], name = "model.3.{}.down">)
}

// -----

// expected-error @+1 {{rule 1 names expert 4, which is out of range: layer 3 has experts 0 to 3}}
module attributes {moe.precision = [{experts = "0-4", encoding = "i8/32"}]} {
moe.weight @d : tensor<4x256x128xf32> role(expert_down) layer(3) source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// expected-error @+1 {{expects rules of texts with an encoding in moe.precision, but got}}
module attributes {moe.precision = [{roles = 3 : i64, encoding = "i8/32"}]} {
}

// -----

// expected-error @+1 {{expects an array of rules in moe.precision, but got}}
module attributes {moe.precision = "i8"} {
}
