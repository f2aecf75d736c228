"""A random policy of two layers as a Hugging Face folder: tinyModel.py qwen|llama FOLDER"""

import sys

import torch
import transformers

PAD = 7
"""Trained like any other token."""

kind, folder = sys.argv[1:]
torch.manual_seed(5)
sizes = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.2,
}
configs = {
    "qwen": lambda: transformers.Qwen2Config(**sizes, tie_word_embeddings=True, pad_token_id=PAD),
    "llama": lambda: transformers.LlamaConfig(**sizes, tie_word_embeddings=False),
}
model = transformers.AutoModelForCausalLM.from_config(configs[kind]())
with torch.no_grad():
    for name, value in model.named_parameters():
        # begun as zeros, they would hide a mistake
        if name.endswith("bias"):
            value.normal_(0, 0.1)
model.save_pretrained(folder)
