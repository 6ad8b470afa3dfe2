# SPDX-License-Identifier: Apache-2.0
"""L1 modules of small models with random weights, layer by layer: for tests of what the device does with a graph."""
import os
import re

from moectest import moec, tiny_config

FORMAT = """module attributes {{moe.chunk = {chunk} : i64, moe.context = {context} : i64, moe.window = 0 : i64,
  moe.sinks = 0 : i64,
  moe.files = [{{hash = "{zeros}", kind = "random:{seed}", path = "random:{seed}/model.safetensors",
    size = 1000000 : i64}}],
  moe.tokenizer = {{hash = "{zeros}", kind = "bytes", path = "tokenizer.json", size = 5107 : i64}},
  moe.generation = {{stop_ids = array<i64: 300>, temperature = 0.0 : f64, top_k = 0 : i64, top_p = 1.0 : f64}},
  moe.model = {{architecture = "{architecture}", name = "{architecture}", vocab_size = {vocab} : i64,
    hidden_size = {hidden} : i64, num_layers = {layers} : i64, num_heads = {heads} : i64,
    num_kv_heads = {kv_heads} : i64, head_dim = {head_dim} : i64, num_experts = {experts} : i64,
    top_k = {top_k} : i64, expert_size = {expert_size} : i64}}, {recorded}}} {{
{body}
}}
"""


class GraphModel:
    """Sizes of a model; `layers` is a list of options, each {} or with some of the keys that `attention` and
    `feed_forward` read."""

    def __init__(self, layers, **sizes):
        self.layers = layers
        self.sizes = {"architecture": "graph", "chunk": 16, "context": 128, "vocab": 320, "hidden": 64, "heads": 4,
                      "kv_heads": 2, "head_dim": 16, "experts": 0, "top_k": 0, "expert_size": 0, "inner": 96,
                      "seed": 3, "theta": "1.0e4", "dim": None, "scaling": None, "unit_offset": False, **sizes}
        self.weights = {}
        self.lines = []
        self.number = 0

    def __getattr__(self, name):
        return self.sizes[name]

    # Text.

    def emit(self, text, results=1):
        self.number += 1
        self.lines.append(f"    %v{self.number}{f':{results}' if results > 1 else ''} = {text}")
        return f"%v{self.number}"

    def rows(self, columns):
        return f"tensor<{self.count}x{columns}xf32>"

    def param(self, name, shape, role, layer):
        kind = "x".join(map(str, shape))
        pieces = shape[0] if len(shape) == 3 else 1
        label = f"{name}.{{}}" if pieces > 1 else name
        self.weights[name] = (f"  moe.weight @{name} : tensor<{kind}xf32> role({role}) "
                              f"{f'layer({layer}) ' if layer >= 0 else ''}source(<dtype = \"bf16\", "
                              f"files = [{', '.join(['0'] * pieces)}], offsets = [{', '.join(['0'] * pieces)}], "
                              f"name = \"{label}\">)")
        return self.emit(f"moe.param @{name} : tensor<{kind}xf32>")

    def linear(self, x, columns, name, rows, role, layer, bias=None):
        w = self.param(name, [rows, columns], role, layer)
        extra = ""
        if bias:
            b = self.param(bias, [rows], "bias", layer)
            extra = f" bias({b} : tensor<{rows}xf32>)"
        return self.emit(f"moe.linear {x}, {w}{extra} : {self.rows(columns)}, tensor<{rows}x{columns}xf32> -> "
                         f"{self.rows(rows)}")

    def norm(self, x, columns, name, block, layer):
        w = self.param(name, [block], "norm", layer)
        offset = ", unit_offset" if self.unit_offset else ""
        return self.emit(f"moe.rms_norm {x}, {w} {{eps = 1.0e-6 : f32{offset}}} : {self.rows(columns)}, "
                         f"tensor<{block}xf32>")

    def add(self, x, y):
        return self.emit(f"arith.addf {x}, {y} : {self.rows(self.hidden)}")

    # Parts of a layer.

    def rope(self, x, columns):
        scaling = f", scaling = {self.scaling}" if self.scaling else ""
        return self.emit(f"moe.rope {x}, %position {{dim = {self.dim or self.head_dim} : i64, head_dim = "
                         f"{self.head_dim} : i64, theta = {self.theta} : f64{scaling}}} : {self.rows(columns)}")

    def attention(self, index, x, cache, bias=False, norms=None, gate=False, **_):
        """`norms`: None, "head" or "full"; `bias` of q, k, v and o; `gate`: an output gate."""
        prefix, q_size, k_size = f"layers.{index}.", self.heads * self.head_dim, self.kv_heads * self.head_dim
        heads = {}
        for name, size in (("q", q_size), ("k", k_size), ("v", k_size)):
            heads[name] = self.linear(x, self.hidden, prefix + name, size, "attention_" + name, index,
                                      prefix + name + "_bias" if bias else None)
        gamma = None
        if gate:
            gamma = self.linear(x, self.hidden, prefix + "attention_gate", q_size, "attention_gate", index)
        for name, size in (("q", q_size), ("k", k_size)):
            if norms:
                heads[name] = self.norm(heads[name], size, prefix + name + "_norm",
                                        size if norms == "full" else self.head_dim, index)
            heads[name] = self.rope(heads[name], size)
        appended = self.emit(f"moe.cache_append {cache}, {heads['k']}, {heads['v']}, %position : {self.cache()}, "
                             f"{self.rows(k_size)}, {self.rows(k_size)}")
        both = self.emit(f"moe.attention {heads['q']}, {appended}, %position {{heads = {self.heads} : i64, "
                         f"scale = 0.25 : f32}} : {self.rows(q_size)}, {self.cache()} -> {self.rows(q_size)}", 2)
        o = both + "#0"
        if gate:
            o = self.emit(f"moe.gate {o}, {gamma} {{kind = #moe.activation<sigmoid>}} : {self.rows(q_size)}, "
                          f"{self.rows(q_size)}")
        o = self.linear(o, q_size, prefix + "o", self.hidden, "attention_o", index,
                        prefix + "o_bias" if bias else None)
        return o, both + "#1"

    def dense(self, prefix, roles, index, x):
        g = self.linear(x, self.hidden, prefix + "gate", self.inner, roles + "_gate", index)
        u = self.linear(x, self.hidden, prefix + "up", self.inner, roles + "_up", index)
        h = self.emit(f"moe.glu {g}, {u} {{glu = #moe.glu<swiglu>}} : {self.rows(self.inner)}")
        return self.linear(h, self.inner, prefix + "down", self.hidden, roles + "_down", index)

    def feed_forward(self, index, x, normed, ffn="dense", renormalize=True, **_):
        """`ffn`: "dense", "moe", or "shared" (experts and a gated shared expert)."""
        prefix = f"layers.{index}."
        if ffn == "dense":
            return self.add(x, self.dense(prefix + "ffn.", "ffn", index, normed))
        e, k, i, h = self.experts, self.top_k, self.expert_size, self.hidden
        logits = self.linear(normed, h, prefix + "router", e, "router", index)
        flag = ", renormalize" if renormalize else ""
        routed = self.emit(f"moe.route {logits} {{k = {k} : i64, score = #moe.score<softmax>{flag}}} : {self.rows(e)} "
                           f"-> {self.rows(k)}, tensor<{self.count}x{k}xi32>", 2)
        gate, up = (self.param(prefix + "experts." + name, [e, i, h], "expert_" + name, index)
                    for name in ("gate", "up"))
        down = self.param(prefix + "experts.down", [e, h, i], "expert_down", index)
        y = self.emit(f"moe.experts {normed}, {routed}#0, {routed}#1, {gate}, {up}, {down} "
                      f"{{glu = #moe.glu<swiglu>}} : {self.rows(h)}, {self.rows(k)}, tensor<{self.count}x{k}xi32>, "
                      f"tensor<{e}x{i}x{h}xf32>, tensor<{e}x{i}x{h}xf32>, tensor<{e}x{h}x{i}xf32> -> {self.rows(h)}")
        x = self.add(x, y)
        if ffn == "shared":
            shared = self.dense(prefix + "shared.", "shared", index, normed)
            scale = self.linear(normed, h, prefix + "shared.router", 1, "shared_router", index)
            gated = self.emit(f"moe.gate {shared}, {scale} {{kind = #moe.activation<sigmoid>}} : {self.rows(h)}, "
                              f"{self.rows(1)}")
            x = self.add(x, gated)
        return x

    # Functions.

    def cache(self):
        return (f"!moe.cache<kv_heads = {self.kv_heads}, qk_dim = {self.head_dim}, v_dim = {self.head_dim}, "
                f"capacity = {(self.context + 63) // 64 * 64}, elem = f32>")

    def step(self, name, count):
        self.count = count
        caches = "".join(f", %cache{i}: {self.cache()}" for i in range(len(self.layers)))
        results = ", ".join([self.rows(self.hidden)] + [self.cache()] * len(self.layers))
        self.lines.append(f"  func.func @{name}(%tokens: tensor<{count}xi32>, %position: index{caches}) -> "
                          f"({results}) {{")
        table = self.param("embed", [self.vocab, self.hidden], "embedding", -1)
        x = self.emit(f"moe.embed %tokens, {table} : tensor<{count}xi32>, tensor<{self.vocab}x{self.hidden}xf32> -> "
                      f"{self.rows(self.hidden)}")
        outputs = []
        for index, layer in enumerate(self.layers):
            normed = self.norm(x, self.hidden, f"layers.{index}.attention_norm", self.hidden, index)
            o, updated = self.attention(index, normed, f"%cache{index}", **layer)
            x = self.add(x, o)
            normed = self.norm(x, self.hidden, f"layers.{index}.ffn_norm", self.hidden, index)
            x = self.feed_forward(index, x, normed, **layer)
            outputs.append(updated)
        self.lines += [f"    return {', '.join([x] + outputs)} : {results}", "  }"]

    def text(self, recorded):
        self.weights, self.lines, self.number = {}, [], 0
        self.step("prefill", "?")
        self.step("decode", "1")
        self.count = "?"
        self.lines.append(f"  func.func @head(%hidden: {self.rows(self.hidden)}) -> {self.rows(self.vocab)} {{")
        y = self.norm("%hidden", self.hidden, "output_norm", self.hidden, -1)
        y = self.linear(y, self.hidden, "output_head", self.vocab, "head", -1)
        self.lines += [f"    return {y} : {self.rows(self.vocab)}", "  }"]
        body = "\n".join([*self.weights.values(), *self.lines])
        return FORMAT.format(**{**self.sizes, "layers": len(self.layers), "zeros": "0" * 32, "body": body,
                                "recorded": recorded})

    def write(self, folder, name, *flags):
        """Writes the module, as imported with the flags, into `folder`; returns its path."""
        prefix = os.path.join(folder, name)
        config = tiny_config(prefix + ".config.json")
        moec("compile", "--random-weights", config, *flags, "--to", "import", "-o", prefix)
        path = prefix + ".import.mlir"
        with open(path, encoding="utf-8") as file:
            head = file.readline()
        recorded = ", ".join(re.search(key + r" = \{[^}]*\}", head).group() for key in ("moe.options", "moe.target"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text(recorded))
        return path

    def compile(self, folder, name, *flags):
        """Compiles the module into `folder`; returns the prefix of the outputs and what the fuse stage left."""
        prefix, dump = os.path.join(folder, name), os.path.join(folder, name + "-phases")
        path = self.write(folder, name + "-graph", *flags)
        moec("compile", "--from", "import", path, *flags, "--dump-phases-to", dump, "-o", prefix)
        fused = [file for file in os.listdir(dump) if "fuse" in file]
        return prefix, os.path.join(dump, fused[0])
