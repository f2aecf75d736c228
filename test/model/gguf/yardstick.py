"""What transformers' own loader makes of a GGUF file: digests of the tensors, ids of texts, a rendered chat.

    python yardstick.py FOLDER FILE TEXTS_AS_JSON
"""
import hashlib
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, file, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
chat = [{"role": "user", "content": "hello"}]
print(
    json.dumps(
        {
            "digests": {
                name: hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest()
                for name, tensor in model.state_dict().items()
                if name != "lm_head.weight" or not model.config.tie_word_embeddings
            },
            "ids": [tokenizer(text, add_special_tokens=False).input_ids for text in texts],
            "chat": tokenizer.apply_chat_template(chat, tokenize=False),
        }
    )
)
