"""Records what transformers and PyTorch say of the real model that `npm run real-model` fetches.

    pip install torch transformers gguf
    python test/model/realModel.py FOLDER FILE.gguf > test/model/realModel.json

The weights are those of transformers' own loader of GGUF files, in float32 on the CPU. The loader leaves out that
SmolLM2 cuts digits off before anything else, as its `tokenizer.json` on the Hub does; here it is put back. The padding
token ends every turn too, and PyTorch's embedding gives padding no gradient; here it has its own, as every token.
"""
import json
import sys

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = [
    "",
    "Hello, world!",
    "  two  spaces   three ",
    "\ttabs\tand\nnew\n\nlines\r\n",
    "The quick brown fox jumps over the lazy dog.",
    "don't won't I'll you've we're he'd it's O'Neil",
    "12345 67.89 1,000,000 3e-7 0x1F",
    "List:\n\n1. one\n\n2. two",
    "a  12   345",
    "def f(x: int) -> int:\n    return x ** 2  # square\n",
    "if x:\n    1\n    22",
    "for (let i = 0; i < 10; i++) { sum += a[i]; }",
    '{"name": "search", "arguments": {"query": "Paris", "k": 3}}',
    "<search>capital of France</search>",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|endoftext|><|im_end|>",
    "<|im_start|> <|im_star|> <|im_end|>x",
    "naïve café résumé Ångström",
    "cafe\u0301 e\u0301",
    "日本語のテキストと中文文本",
    "Привет, мир! Ελληνικά עברית العربية हिन्दी",
    "🙂🤖👨‍👩‍👧‍👦🇩🇪",
    "\u00a0no-break\u2003em\u200bzero\ufeffmark",
    "∑ x² ≤ √π ± ∞ → ½",
    "https://example.org/a?b=c&d=%20#e",
    "SELECT * FROM t WHERE id IN (1, 2, 3);",
    "\\frac{a}{b} = \\boxed{42}",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case",
    "...!!!???---***___",
    "What is 17 * 23? Think step by step.",
    "\x00\x01\x7f",
    "The end.\n",
]

CHATS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Name a prime above 10."}],
    [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello! How can I help?"},
        {"role": "user", "content": "Write a haiku about rivers."},
    ],
]

QUESTIONS = [
    "What is the capital of France?",
    "What is 2 + 2?",
    "Name three colours of the rainbow.",
    "Who wrote Hamlet?",
]
GREEDY = 24

DEMONSTRATIONS = [
    ("What is 17 * 23?", "<python>print(17 * 23)</python>"),
    ("Who painted the Mona Lisa?", "<search>painter of the Mona Lisa</search>"),
    ("What is the square root of 1764?", "<python>print(1764 ** 0.5)</python>"),
]
LR = 1e-4


def token_log_probs(model, ids):
    logits = model(torch.tensor([ids])).logits[0, :-1]
    picked = torch.log_softmax(logits, -1).gather(-1, torch.tensor(ids[1:])[:, None])
    return picked[:, 0]


def greedy(model, tokenizer, question):
    prompt = rendered_ids(tokenizer, question)
    out = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), max_new_tokens=GREEDY, do_sample=False
    )
    made = out[0, len(prompt) :].tolist()
    return {"prompt": prompt, "made": made, "text": tokenizer.decode(made, skip_special_tokens=False)}


def rendered_ids(tokenizer, question):
    chat = [{"role": "user", "content": question}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return tokenizer(text).input_ids


def train(model, sequences):
    """The mean cross-entropy over all answers' tokens before each of two steps, and after them."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    losses, norms = [], []
    for step in range(3):
        losses_of = [token_log_probs(model, each["ids"])[each["from"] - 1 :] for each in sequences]
        loss = -torch.cat(losses_of).mean()
        losses.append(loss.item())
        if step == 2:
            break
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimiser.step()
        optimiser.zero_grad()
    return {"lr": LR, "losses": losses, "gradNorms": norms}


def main(folder, file):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model.get_input_embeddings().padding_idx = None
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    chats = [tokenizer.apply_chat_template(each, tokenize=False, add_generation_prompt=True) for each in CHATS]
    scored = tokenizer(chats[2]).input_ids
    sequences = []
    for question, answer in DEMONSTRATIONS:
        prompt = rendered_ids(tokenizer, question)
        sequences.append({"ids": prompt + tokenizer(answer + "<|im_end|>").input_ids, "from": len(prompt)})
    with torch.no_grad():
        log_probs = [round(value, 6) for value in token_log_probs(model, scored).tolist()]
        texts = [greedy(model, tokenizer, question) for question in QUESTIONS]
    out = {
        "texts": [{"text": text, "ids": tokenizer(text).input_ids} for text in TEXTS],
        "chats": [{"messages": messages, "text": text} for messages, text in zip(CHATS, chats)],
        "scored": {"ids": scored, "logProbs": log_probs},
        "greedy": [{"question": question, **each} for question, each in zip(QUESTIONS, texts)],
        "training": {"sequences": sequences, **train(model, sequences)},
    }
    print(json.dumps(out, ensure_ascii=True))


main(*sys.argv[1:])
