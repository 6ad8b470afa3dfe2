# SPDX-License-Identifier: Apache-2.0
"""The tensors and keys of a Qwen3.5-MoE config (Qwen3.6-35B-A3B) as llama.cpp's architecture qwen35moe has them."""

ARCHITECTURE = "qwen35moe"


def text_of(config):
    return config.get("text_config", config)


def tensors_of(config):
    """(name, shape, type): a type of ggml, True for the one that was asked for, False for f32. Head and V have 8 bits,
    as in examples/flagship/precision.json."""
    text = text_of(config)
    hidden, vocabulary = text["hidden_size"], text["vocab_size"]
    yield "token_embd.weight", (vocabulary, hidden), True
    yield "output_norm.weight", (hidden,), False
    yield "output.weight", (vocabulary, hidden), "Q8_0"
    experts, inner, shared = (text[key] for key in (
        "num_experts", "moe_intermediate_size", "shared_expert_intermediate_size"))
    for layer in range(text["num_hidden_layers"]):
        is_attention = (layer + 1) % text["full_attention_interval"] == 0
        for name, shape, kind in (
                ("attn_norm.weight", (hidden,), False), ("post_attention_norm.weight", (hidden,), False),
                *(attention_of(text) if is_attention else delta_of(text)),
                ("ffn_gate_inp.weight", (experts, hidden), False), ("ffn_gate_inp_shexp.weight", (hidden,), False),
                ("ffn_gate_exps.weight", (experts, inner, hidden), True),
                ("ffn_up_exps.weight", (experts, inner, hidden), True),
                ("ffn_down_exps.weight", (experts, hidden, inner), True),
                ("ffn_gate_shexp.weight", (shared, hidden), True), ("ffn_up_shexp.weight", (shared, hidden), True),
                ("ffn_down_shexp.weight", (hidden, shared), True)):
            yield f"blk.{layer}.{name}", shape, kind


def attention_of(text):
    hidden, head = text["hidden_size"], text["head_dim"]
    queries, keys = text["num_attention_heads"] * head, text["num_key_value_heads"] * head
    return (("attn_q.weight", (2 * queries, hidden), True), ("attn_k.weight", (keys, hidden), True),
            ("attn_v.weight", (keys, hidden), "Q8_0"), ("attn_output.weight", (hidden, queries), True),
            ("attn_q_norm.weight", (head,), False), ("attn_k_norm.weight", (head,), False))


def delta_of(text):
    hidden, values = text["hidden_size"], text["linear_num_value_heads"]
    keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
    inner = values * text["linear_value_head_dim"]
    return (("attn_qkv.weight", (2 * keys + inner, hidden), True), ("attn_gate.weight", (inner, hidden), True),
            ("ssm_conv1d.weight", (2 * keys + inner, text["linear_conv_kernel_dim"]), False),
            ("ssm_dt.bias", (values,), False), ("ssm_a", (values,), False),
            ("ssm_beta.weight", (values, hidden), True), ("ssm_alpha.weight", (values, hidden), True),
            ("ssm_norm.weight", (text["linear_value_head_dim"],), False), ("ssm_out.weight", (hidden, inner), True))


def add_metadata(writer, config):
    text = text_of(config)
    rope = text["rope_parameters"]
    writer.add_context_length(text["max_position_embeddings"])
    writer.add_embedding_length(text["hidden_size"])
    writer.add_block_count(text["num_hidden_layers"])
    writer.add_expert_feed_forward_length(text["moe_intermediate_size"])
    writer.add_expert_shared_feed_forward_length(text["shared_expert_intermediate_size"])
    writer.add_expert_count(text["num_experts"])
    writer.add_expert_used_count(text["num_experts_per_tok"])
    writer.add_head_count(text["num_attention_heads"])
    writer.add_head_count_kv(text["num_key_value_heads"])
    writer.add_key_length(text["head_dim"])
    writer.add_value_length(text["head_dim"])
    writer.add_layer_norm_rms_eps(text["rms_norm_eps"])
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(int(text["head_dim"] * rope["partial_rotary_factor"]))
    writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    writer.add_ssm_conv_kernel(text["linear_conv_kernel_dim"])
    writer.add_ssm_inner_size(text["linear_num_value_heads"] * text["linear_value_head_dim"])
    writer.add_ssm_state_size(text["linear_key_head_dim"])
    writer.add_ssm_time_step_rank(text["linear_num_value_heads"])
    writer.add_ssm_group_count(text["linear_num_key_heads"])
    writer.add_vocab_size(text["vocab_size"])
    writer.add_tokenizer_model("none")
