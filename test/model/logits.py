"""Random models of transformers and their logits, for logits.test.ts: logits.py FOLDER TOKENS.json

Writes a checkpoint a family under FOLDER and prints one line of JSON: per family the logits of the tokens, flat.
"""

import json
import os
import sys

import torch
import transformers

torch.manual_seed(3)
torch.set_num_threads(1)
folder, asked = sys.argv[1:]
tokens = torch.tensor([json.load(open(asked))])


def sizes(**more):
    return {
        **dict(
            vocab_size=61,
            hidden_size=48,
            num_hidden_layers=3,
            num_attention_heads=6,
            num_key_value_heads=2,
            intermediate_size=80,
            max_position_embeddings=64,
        ),
        **more,
    }


def rope(kind, **more):
    return {"rope_type": kind, "rope_theta": 10000.0, "factor": 4.0, **more}


def llama(**more):
    return transformers.LlamaConfig(**sizes(**more))


FAMILIES = {
    "llama2": llama(num_key_value_heads=6),
    "llama3": llama(
        rope_parameters=rope(
            "llama3",
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=16,
        )
    ),
    "llamaLinear": llama(rope_parameters=rope("linear")),
    "llamaDynamic": llama(rope_parameters=rope("dynamic")),
    "llamaBiases": llama(attention_bias=True, mlp_bias=True, num_key_value_heads=1),
    "smollm2": llama(num_attention_heads=9, num_key_value_heads=3, hidden_size=36, tie_word_embeddings=True),
    "qwen2": transformers.Qwen2Config(**sizes(tie_word_embeddings=True)),
    "qwen25Yarn": transformers.Qwen2Config(
        **sizes(rope_parameters=rope("yarn", original_max_position_embeddings=16))
    ),
    "qwen3": transformers.Qwen3Config(**sizes(head_dim=12, num_key_value_heads=3)),
    "qwen3Yarn": transformers.Qwen3Config(
        **sizes(
            head_dim=10,
            tie_word_embeddings=True,
            rope_parameters=rope("yarn", original_max_position_embeddings=16, attention_factor=1.3),
        )
    ),
}

found = {}
for name, config in FAMILIES.items():
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for key, value in model.named_parameters():
            scale = 0.3 if value.dim() == 1 else 1.2 / value.shape[-1] ** 0.5
            value.copy_(torch.randn_like(value) * scale + ("norm" in key))
        model.save_pretrained(os.path.join(folder, name))
        found[name] = model(tokens).logits[0].flatten().tolist()
print(json.dumps(found))
