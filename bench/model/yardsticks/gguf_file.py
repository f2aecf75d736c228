"""Writes the weights of a Llama folder as the GGUF file that llama.cpp reads: float32 and unchanged, or matrices in float16."""

import json
import pathlib

import gguf
import numpy as np
from safetensors.torch import load_file

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
OUTER = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def renamed(name):
    if name in OUTER:
        return OUTER[name]
    layer, inner = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
    return f"blk.{layer}.{NAMES[inner]}.weight"


def interleaved(weight, heads):
    """llama.cpp turns neighbouring dimensions of a Llama head, transformers those half a head apart."""
    out, width = weight.shape
    return weight.reshape(heads, 2, out // heads // 2, width).swapaxes(1, 2).reshape(out, width)


def write(folder, path, half=False):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = config.get("rope_parameters") or config
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if half else gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("no_vocab")
    for file in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_file(file).items():
            weight = tensor.float().numpy()
            if name.endswith("q_proj.weight"):
                weight = interleaved(weight, heads)
            if name.endswith("k_proj.weight"):
                weight = interleaved(weight, kv_heads)
            if half and weight.ndim == 2:
                weight = weight.astype(np.float16)
            writer.add_tensor(renamed(name), np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
