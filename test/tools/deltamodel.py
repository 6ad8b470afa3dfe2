# SPDX-License-Identifier: Apache-2.0
"""Graph models some of whose layers are Gated DeltaNet layers: options {"delta": True} and those of `delta`."""
from graphmodel import GraphModel


class DeltaModel(GraphModel):
    """As GraphModel; sizes `key_heads`, `value_heads`, `key_dim`, `value_dim`, `length` and `head_map` of the delta
    layers."""

    def __init__(self, layers, **sizes):
        super().__init__(layers, **{"key_heads": 2, "value_heads": 4, "key_dim": 16, "value_dim": 32, "length": 4,
                                    "head_map": "grouped", "per_channel": False, **sizes})

    def state_types(self, layer):
        if not layer.get("delta"):
            return [self.cache()]
        keys, values = self.key_heads * self.key_dim, self.value_heads * self.value_dim
        shapes = [[self.length - 1, keys]] * 2 + [[self.length - 1, values],
                                                  [self.value_heads, self.key_dim, self.value_dim]]
        return [f"!moe.state<shape = [{', '.join(map(str, shape))}], elem = f32>" for shape in shapes]

    def delta(self, index, x, states, sigmoid_gate=False, **_):
        """A layer between its norm and its residual: the output and the four new states."""
        prefix, types = f"layers.{index}.delta.", self.state_types(self.layers[index])
        keys, values = self.key_heads * self.key_dim, self.value_heads * self.value_dim
        rates = self.value_heads * (self.key_dim if self.per_channel else 1)
        sizes = {"q": keys, "k": keys, "v": values, "gate": values, "a": rates, "b": self.value_heads}
        y = {name: self.linear(x, self.hidden, prefix + name, size, "recurrent" if name in "ab" else "delta_" + name,
                               index) for name, size in sizes.items()}
        updated = []
        for name, state, kind in zip("qkv", states, types):
            w = self.param(prefix + "conv_" + name, [sizes[name], self.length], "recurrent", index)
            both = self.emit(f"moe.causal_conv1d {y[name]}, {w}, {state} {{kind = #moe.activation<silu>}} : "
                             f"{self.rows(sizes[name])}, tensor<{sizes[name]}x{self.length}xf32>, {kind}", 2)
            y[name] = both + "#0"
            updated.append(both + "#1")
        for name in "qk":
            y[name] = self.emit(f"moe.l2_norm {y[name]} {{block = {self.key_dim} : i64, eps = 1.0e-6 : f32}} : "
                                f"{self.rows(keys)}")
        log = self.param(prefix + "a_log", [self.value_heads], "recurrent", index)
        bias = self.param(prefix + "dt_bias", [rates], "recurrent", index)
        g = self.emit(f"moe.decay {y['a']}, {log}, {bias} : {self.rows(rates)}, tensor<{self.value_heads}xf32>, "
                      f"tensor<{rates}xf32>")
        beta = self.emit(f"moe.activation {y['b']} {{kind = #moe.activation<sigmoid>}} : {self.rows(self.value_heads)}")
        rule = self.emit(f"moe.delta_rule {y['q']}, {y['k']}, {y['v']}, {g}, {beta}, {states[3]} {{scale = 0.25 : f32, "
                         f"head_map = #moe.head_map<{self.head_map}>}} : {self.rows(keys)}, {self.rows(values)}, "
                         f"{self.rows(rates)}, {self.rows(self.value_heads)}, {types[3]}", 2)
        w = self.param(prefix + "norm", [self.value_dim], "norm", index)
        kind = "sigmoid" if sigmoid_gate else "silu"
        o = self.emit(f"moe.gated_norm {rule}#0, {y['gate']}, {w} {{eps = 1.0e-6 : f32, "
                      f"kind = #moe.activation<{kind}>}} : {self.rows(values)}, tensor<{self.value_dim}xf32>")
        return self.linear(o, values, prefix + "out", self.hidden, "delta_out", index), [*updated, rule + "#1"]

    def step(self, name, count):
        self.count = count
        types = [kind for layer in self.layers for kind in self.state_types(layer)]
        arguments = "".join(f", %state{i}: {kind}" for i, kind in enumerate(types))
        results = ", ".join([self.rows(self.hidden), *types])
        self.lines.append(f"  func.func @{name}(%tokens: tensor<{count}xi32>, %position: index{arguments}) -> "
                          f"({results}) {{")
        table = self.param("embed", [self.vocab, self.hidden], "embedding", -1)
        x = self.emit(f"moe.embed %tokens, {table} : tensor<{count}xi32>, tensor<{self.vocab}x{self.hidden}xf32> -> "
                      f"{self.rows(self.hidden)}")
        outputs, first = [], 0
        for index, layer in enumerate(self.layers):
            count = len(self.state_types(layer))
            states = [f"%state{first + i}" for i in range(count)]
            first += count
            normed = self.norm(x, self.hidden, f"layers.{index}.attention_norm", self.hidden, index)
            if layer.get("delta"):
                o, updated = self.delta(index, normed, states, **layer)
            else:
                o, cache = self.attention(index, normed, states[0], **layer)
                updated = [cache]
            x = self.add(x, o)
            normed = self.norm(x, self.hidden, f"layers.{index}.ffn_norm", self.hidden, index)
            x = self.feed_forward(index, x, normed, **layer)
            outputs += updated
        self.lines += [f"    return {', '.join([x] + outputs)} : {results}", "  }"]
