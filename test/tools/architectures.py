# SPDX-License-Identifier: Apache-2.0
"""Tiny random checkpoints of every model family, the same bytes wherever they are made.

A value is a function of (seed of the model, tensor name, element index) alone: SHAKE-128 gives 16 bits for each
element, which become a uniform value around a centre that suits the tensor. No norm, decay, bias or router is left at a
value that hides an omission. The goldens in test/data/architectures are what Hugging Face transformers computes from
these very files (test/data/architectures/make.py). Plain Python, no packages.
"""
import array
import hashlib
import json
import os

from tinymodel import compact, safetensors, tokenizer

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "architectures")
# Other spellings of the same values.
SAME_VALUES = {"qwen3_5_moe-flat": "qwen3_5_moe"}
# Where the first seed gives a choice of token or expert that is nearly a tie (make.py refuses those), another one.
SEEDS = {"olmoe": 2, "qwen2_moe": 1, "qwen2_moe-mixed": 1, "qwen3_next": 1, "qwen3_5": 1, "qwen3_5-flat": 2}
ZERO_CENTRED = ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
SHARED_EXPERT = ("qwen2_moe", *ZERO_CENTRED)


def configs():
    """{name: config.json} of all models, spelled as checkpoints of these families spell it."""
    with open(os.path.join(FOLDER, "configs.json"), encoding="utf-8") as file:
        return json.load(file)


def layer_types(text):
    interval = text.get("full_attention_interval")
    derived = ["linear_attention" if interval and (i + 1) % interval else "full_attention"
               for i in range(text["num_hidden_layers"])]
    return text.get("layer_types") or derived


def is_sparse(text, layer):
    """True if `layer` has routed experts."""
    step = text.get("decoder_sparse_step", 1)
    return "num_experts" in text and layer not in text.get("mlp_only_layers", []) and (layer + 1) % step == 0


def attention_shapes(kind, text):
    hidden, heads, groups = text["hidden_size"], text["num_attention_heads"], text["num_key_value_heads"]
    head = text.get("head_dim") or hidden // heads
    gated = 2 if kind in ZERO_CENTRED else 1
    shapes = {"q_proj.weight": [heads * head * gated, hidden], "k_proj.weight": [groups * head, hidden],
              "v_proj.weight": [groups * head, hidden], "o_proj.weight": [hidden, heads * head]}
    if kind == "qwen2_moe":
        shapes |= {part + "_proj.bias": [shapes[part + "_proj.weight"][0]] for part in "qkv"}
    if kind == "olmoe":
        shapes |= {"q_norm.weight": [heads * head], "k_norm.weight": [groups * head]}
    elif kind.startswith("qwen3"):
        shapes |= {"q_norm.weight": [head], "k_norm.weight": [head]}
    return {"self_attn." + name: shape for name, shape in shapes.items()}


def delta_shapes(kind, text):
    hidden, value_heads, width = text["hidden_size"], text["linear_num_value_heads"], text["linear_value_head_dim"]
    keys, values = text["linear_num_key_heads"] * text["linear_key_head_dim"], value_heads * width
    shapes = {"conv1d.weight": [2 * keys + values, 1, text["linear_conv_kernel_dim"]], "A_log": [value_heads],
              "dt_bias": [value_heads], "norm.weight": [width], "out_proj.weight": [hidden, values]}
    if kind == "qwen3_next":
        shapes |= {"in_proj_qkvz.weight": [2 * keys + 2 * values, hidden],
                   "in_proj_ba.weight": [2 * value_heads, hidden]}
    else:
        shapes |= {"in_proj_qkv.weight": [2 * keys + values, hidden], "in_proj_z.weight": [values, hidden],
                   "in_proj_b.weight": [value_heads, hidden], "in_proj_a.weight": [value_heads, hidden]}
    return {"linear_attn." + name: shape for name, shape in shapes.items()}


def glu_shapes(base, width, hidden):
    return {base + "gate_proj.weight": [width, hidden], base + "up_proj.weight": [width, hidden],
            base + "down_proj.weight": [hidden, width]}


def ffn_shapes(kind, text, layer):
    """Routed experts are fused here: gate rows, then up rows."""
    hidden = text["hidden_size"]
    if not is_sparse(text, layer):
        return glu_shapes("mlp.", text["intermediate_size"], hidden)
    experts, width = text["num_experts"], text.get("moe_intermediate_size") or text["intermediate_size"]
    shapes = {"mlp.gate.weight": [experts, hidden], "mlp.experts.gate_up_proj": [experts, 2 * width, hidden],
              "mlp.experts.down_proj": [experts, hidden, width]}
    if kind in SHARED_EXPERT:
        shapes |= glu_shapes("mlp.shared_expert.", text["shared_expert_intermediate_size"], hidden)
        shapes["mlp.shared_expert_gate.weight"] = [1, hidden]
    return shapes


def text_shapes(config):
    """{name without prefix: shape}, experts fused."""
    text, kind = config.get("text_config", config), config["model_type"]
    hidden = text["hidden_size"]
    shapes = {"embed_tokens.weight": [text["vocab_size"], hidden], "norm.weight": [hidden]}
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = [text["vocab_size"], hidden]
    for layer, mixer in enumerate(layer_types(text)):
        own = delta_shapes(kind, text) if mixer == "linear_attention" else attention_shapes(kind, text)
        own |= ffn_shapes(kind, text, layer)
        own |= {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden]}
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in own.items()}
    return shapes


def spread(config, name, shape):
    """(centre, half width) of the uniform values of a tensor. Logits come out between 1 and 10."""
    if name.endswith("norm.weight"):
        return (0.0 if config["model_type"] in ZERO_CENTRED and "linear_attn" not in name else 1.0), 0.5
    for ending, values in ((".A_log", (-1.0, 2.0)), (".dt_bias", (-1.0, 2.0)), (".bias", (0.0, 0.5)),
                           (".conv1d.weight", (0.0, 0.9)), ("mlp.gate.weight", (0.0, 0.5)),
                           ("embed_tokens.weight", (0.0, 0.25)), ("lm_head.weight", (0.0, 0.4))):
        if name.endswith(ending):
            return values
    # What goes back into the residual stream is larger, so that a layer matters beside the embedding.
    gain = 3.0 if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight", ".down_proj")) else 1.0
    return 0.0, gain * (3.0 / shape[-1]) ** 0.5


def random_values(key, count, centre, half_width, dtype):
    """The bytes of `count` values of type F32 or BF16, whose 16 lower bits are cut off."""
    words = array.array("H", hashlib.shake_128(key.encode()).digest(2 * count))
    step = half_width / 32768
    values = array.array("f", [centre + (word - 32767.5) * step for word in words]).tobytes()
    if dtype == "F32":
        return values
    cut = bytearray(2 * count)
    cut[0::2], cut[1::2] = values[2::4], values[3::4]
    return bytes(cut)


def split_experts(name, dtype, shape, values):
    """The per-expert spelling of a fused tensor."""
    base, part = name.rsplit(".", 1)
    size = len(values) // shape[0]
    for expert in range(shape[0]):
        own = values[expert * size:(expert + 1) * size]
        if part == "down_proj":
            yield f"{base}.{expert}.down_proj.weight", (dtype, shape[1:], own)
            continue
        for index, projection in enumerate(("gate_proj", "up_proj")):
            half = own[index * size // 2:(index + 1) * size // 2]
            yield f"{base}.{expert}.{projection}.weight", (dtype, [shape[1] // 2, shape[2]], half)


def tensors(name, config):
    """{name: (dtype, shape, bytes)} as in the files of this family."""
    text, nested = config.get("text_config", config), "text_config" in config
    dtype = {"float32": "F32", "bfloat16": "BF16"}[text.get("dtype") or text["torch_dtype"]]
    seed, result = SAME_VALUES.get(name, name), {}
    seed = f"{seed}/{SEEDS.get(seed, 0)}"
    for short, shape in text_shapes(config).items():
        count = 1
        for extent in shape:
            count *= extent
        values = random_values(f"{seed}/{short}", count, *spread(config, short, shape), dtype)
        full = short if short == "lm_head.weight" else ("model.language_model." if nested else "model.") + short
        if ".experts." in short and not nested:
            result |= dict(split_experts(full, dtype, shape, values))
        else:
            result[full] = (dtype, shape, values)
    if nested:  # Parts that a text model leaves out.
        for other, shape in (("model.visual.patch_embed.proj.weight", [16, 3, 2, 2, 2]),
                             ("model.visual.blocks.0.norm1.weight", [16]),
                             ("mtp.fc.weight", [text["hidden_size"], 2 * text["hidden_size"]]),
                             ("mtp.norm.weight", [text["hidden_size"]])):
            count = 384 if "patch" in other else shape[0] * (shape[1] if len(shape) == 2 else 1)
            result[other] = (dtype, shape, random_values(other, count, 0.0, 0.5, dtype))
    return result


def weights(name):
    """The bytes of the model's only file of weights."""
    return safetensors(tensors(name, configs()[name]))


def write(name, folder):
    """Writes the checkpoint of the model `name` into `folder`; returns the folder."""
    config = configs()[name]
    os.makedirs(folder, exist_ok=True)
    contents = {"config.json": json.dumps(config, indent=1).encode(),
                "generation_config.json": compact({"eos_token_id": 319}).encode(),
                "tokenizer.json": compact(tokenizer()).encode(), "model.safetensors": weights(name)}
    for file_name, content in contents.items():
        with open(os.path.join(folder, file_name), "wb") as file:
            file.write(content)
    return folder
