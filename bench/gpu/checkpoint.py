"""A random checkpoint shaped like a Qwen2.5: checkpoint.py FOLDER JSON, JSON being settings of Qwen2Config.

Its speed is that of a trained one. It is made where it is fastest, in bfloat16.
"""

import json
import sys

import torch
import transformers

folder, settings = sys.argv[1], json.loads(sys.argv[2])
torch.manual_seed(1)
torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
model = transformers.AutoModelForCausalLM.from_config(
    transformers.Qwen2Config(**settings), dtype=torch.bfloat16
)
model.save_pretrained(folder)
