"""A small random checkpoint with a tokenizer and a chat template of its own: tinyCheckpoint.py FOLDER [--family qwen2|qwen3|llama] [--tied]

Float32, so that what a server computes can be compared closely. Its weights are spread wide enough for tokens to differ
in likelihood. The same seed gives the same checkpoint.
"""

import argparse
import json
import os

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--family", default="qwen2", choices=["qwen2", "qwen3", "llama"])
parser.add_argument("--hidden", type=int, default=128)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--heads", type=int, default=4)
parser.add_argument("--kv-heads", type=int, default=2)
parser.add_argument("--intermediate", type=int, default=0, help="0 = twice the hidden size")
parser.add_argument("--vocabulary", type=int, default=512)
parser.add_argument("--context", type=int, default=4096)
parser.add_argument("--tied", action="store_true", help="the head is the embeddings")
parser.add_argument("--seed", type=int, default=3)
given = parser.parse_args()

TEXTS = [
    "The quick brown fox jumps over the lazy dog. What is the capital of the country?",
    "I search for it: <search>the river that runs through the town</search> <result>nothing</result>",
    "<think>First I compute 12 * 7 = 84, then I add 15.</think> <answer>The answer is \\boxed{99}.</answer>",
    "<python>print(sum(range(10)))</python> 0 1 2 3 4 5 6 7 8 9 a b c d e f { } [ ] ( ) : ; , . ! ?",
]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=given.vocabulary - len(SPECIAL),
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(TEXTS, trainer)
tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
fast = transformers.PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
)
fast.chat_template = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
os.makedirs(given.folder, exist_ok=True)
fast.save_pretrained(given.folder)

# Servers like sizes that their kernels divide.
vocabulary = -(-max(len(fast), given.vocabulary) // 64) * 64
sizes = dict(
    vocab_size=vocabulary,
    hidden_size=given.hidden,
    intermediate_size=given.intermediate or 2 * given.hidden,
    num_hidden_layers=given.layers,
    num_attention_heads=given.heads,
    num_key_value_heads=given.kv_heads,
    max_position_embeddings=given.context,
    tie_word_embeddings=given.tied,
    bos_token_id=None,
    pad_token_id=fast.pad_token_id,
    eos_token_id=fast.eos_token_id,
)
families = {
    "qwen2": transformers.Qwen2Config,
    "qwen3": transformers.Qwen3Config,
    "llama": transformers.LlamaConfig,
}
extra = {} if given.family == "qwen2" else {"head_dim": max(32, given.hidden // 4)}
torch.manual_seed(given.seed)
model = transformers.AutoModelForCausalLM.from_config(families[given.family](**sizes, **extra), dtype=torch.float32).eval()
with torch.no_grad():
    for name, value in model.named_parameters():
        scale = 0.1 if value.dim() == 1 else (1.0 if "embed" in name else 1.5 / value.shape[-1] ** 0.5)
        value.copy_(torch.randn_like(value) * scale + ("norm" in name))
model.generation_config = transformers.GenerationConfig(
    eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id
)
model.save_pretrained(given.folder)
print(json.dumps({"folder": given.folder, "vocabulary": vocabulary}))
