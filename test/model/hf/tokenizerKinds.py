"""Small tokenizers of the kinds that checkpoints have, trained with the `tokenizers` package, and what it makes of texts.

python tokenizerKinds.py OUT: writes OUT/KIND/tokenizer.json and OUT/KIND/tokenizer_config.json; the last line printed is JSON:
{"texts": [...], "kinds": {KIND: {"ids": [[...]], "decoded": [...]}}}.
"""
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

draw = random.Random(7)
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200 = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SENTENCES = [
    "The quick brown fox jumps over the lazy dog. It's 12345 o'clock, isn't it? WE'LL see!",
    "naïve café Grüße 日本語のテキスト 한국어 🙂👩‍🚀 emoji",
    "def f(x):\n    return {'a': x[0], \"b\": 1.5}\n\n\tif x: pass\r\n",
    "<|im_start|>user\nhello<|im_end|>\n<think>why</think>",
    '{"name": "search", "arguments": {"query": "x"}}',
    "e\u0301 combining, \u200d zwj \ufeff bom \u00a0 nbsp \u3000 wide ﬁ ligature Å",
]
WORDS = ["the", "town", "of", "Anna", "search", "result", "answer", "12", "7", "km", "far", ".", "\n"]
CORPUS = SENTENCES * 20 + [" ".join(draw.choice(WORDS) for _ in range(30)) for _ in range(200)]
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tags():
    special = [AddedToken(mark, special=True) for mark in MARKS]
    return special + [AddedToken(tag, special=False, normalized=False) for tag in ["<think>", "</think>", "<tool_call>"]]


def byte_level(pre_tokenizer, normalizer=None, added=None, **model):
    made = Tokenizer(models.BPE(**model))
    made.pre_tokenizer = pre_tokenizer
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    )
    made.add_tokens(tags() if added is None else added)
    return made


def split(*patterns, behavior="isolated", invert=False):
    steps = [pre_tokenizers.Split(Regex(pattern), behavior, invert) for pattern in patterns]
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def sentence_piece(normalizer=None, pre_tokenizer=None, decoder=None):
    made = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    if normalizer is not None:
        made.normalizer = normalizer
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    made.decoder = decoder
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    made.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=700,
            show_progress=False,
            special_tokens=["<unk>", "<s>", "</s>", *bytes_],
            max_token_length=12,
            limit_alphabet=80,
        ),
    )
    parts = json.loads(made.to_str())
    parts["added_tokens"] = [token for token in parts["added_tokens"] if token["content"] not in bytes_]
    made = Tokenizer.from_str(json.dumps(parts))
    made.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in ["[INST]", "[/INST]", "<|im_end|>"]])
    return made


def spaces(strip):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


END = AddedToken("<|im_end|>", special=True)
KINDS = {
    "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "smollm": byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ),
    "llama3": byte_level(split(LLAMA3), ignore_merges=True),
    "qwen2": byte_level(split(QWEN2), normalizers.NFC()),
    "qwen35": byte_level(split(QWEN35), normalizers.NFC()),
    "o200": byte_level(split(O200)),
    "phi": byte_level(split(LLAMA3, behavior="removed", invert=True)),
    "deepseek": byte_level(split(r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", QWEN35)),
    "nfkc": byte_level(split(QWEN2), normalizers.NFKC()),
    "strips": byte_level(
        split(QWEN2),
        normalizers.NFC(),
        [
            END,
            AddedToken("<l>", lstrip=True, special=True),
            AddedToken("<r>", rstrip=True, special=True),
            AddedToken("<b>", lstrip=True, rstrip=True, special=False),
        ],
    ),
    "overlap": byte_level(
        split(QWEN2),
        added=[END, *[AddedToken(text) for text in ["<a>", "<a><b>", "<b>", "  ", "\n\n", "<a", " <c>"]]],
    ),
    "llama2": sentence_piece(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), decoder=spaces(True)
    ),
    "mistral": sentence_piece(
        pre_tokenizer=pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False),
        decoder=spaces(True),
    ),
    "gemma": sentence_piece(
        normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"), spaces(False)
    ),
}
PIECES = [
    *"abcXYZ019 .,'\"\n\t<>|/{}[]()-_=é日🙂ß",
    *["  ", "   ", "\r\n", "\n\n", "<|im_start|>", "<|im_end|>", "<think>", "</think>", " <think> ", "<tool_call>", "<l>"],
    *[" <r> ", "<b>", "<Think>", "town", " far ", "日本語", "<a>", "<a><b>", "<a", "<c>", " <c>", "[INST]", "[/INST]"],
    *["</s>", "<s>", "<unk>", "'s", "'LL", "don't", "1234567", "e\u0301", "\u0301", "\u00a0", "\u3000", "\u200d", "\ufeff"],
    *["ﬁ", "Å", "ǆ", "İ", "the ", "search", "👩‍🚀", "한국어", "\x00", "\x7f", "\x85", "\u2028", "<0x41>", "▁", " ▁"],
]
TEXTS = SENTENCES + ["".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 16))) for _ in range(300)]

found = {}
for name, tokenizer in KINDS.items():
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(folder)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
        json.dump({"eos_token": "<|im_end|>"}, file)
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    found[name] = {"ids": ids, "decoded": [tokenizer.decode(each, skip_special_tokens=False) for each in ids]}
print(json.dumps({"texts": TEXTS, "kinds": found}))
