"""What transformers and PEFT write and read, for the tests beside this file. Prints one line of JSON.

yardstick.py write FOLDER FAMILY DTYPE SHARD       a random model; prints digests of its parameters and its logits
yardstick.py read FOLDER                           loads a folder; prints the same, and what was missing
yardstick.py adapter BASE FOLDER MERGED            a random LoRA adapter on BASE, and BASE with it merged
yardstick.py adapt BASE FOLDER                     loads an adapter on BASE; prints logits
yardstick.py tokens FOLDER TEXTS.json              encodes and decodes texts, renders chats
"""

import hashlib
import json
import sys

import torch
import transformers

torch.manual_seed(7)
torch.set_num_threads(1)
TOKENS = torch.tensor([[1, 5, 9, 2, 44, 17, 3, 30]])

SMALL = dict(
    vocab_size=61,
    hidden_size=32,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=48,
    max_position_embeddings=256,
)
FAMILIES = {
    "llama": lambda: transformers.LlamaConfig(**SMALL, rms_norm_eps=1e-5),
    "llama3": lambda: transformers.LlamaConfig(
        **SMALL,
        tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ),
    "llamaBias": lambda: transformers.LlamaConfig(**SMALL, attention_bias=True, mlp_bias=True),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL, tie_word_embeddings=True),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL, head_dim=16),
    "qwen3Yarn": lambda: transformers.Qwen3Config(
        **SMALL,
        head_dim=16,
        tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 1000000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ),
}


def random_model(config):
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(1 + 0.3 * torch.randn_like(parameter) if "norm" in name else torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) * 0.2)
    return model


def facts(model):
    model = model.eval()
    tied = model.config.tie_word_embeddings
    digests = {
        name: hashlib.sha256(value.detach().float().contiguous().numpy().tobytes()).hexdigest()
        for name, value in model.state_dict().items()
        if not (tied and name == "lm_head.weight")
    }
    with torch.no_grad():
        logits = model.float()(TOKENS).logits[0]
    return {"digests": digests, "logits": logits.flatten().tolist()}


def write(folder, family, dtype, shard):
    model = random_model(FAMILIES[family]()).to(getattr(torch, dtype))
    model.generation_config.temperature = 0.7
    model.generation_config.do_sample = True
    model.save_pretrained(folder, max_shard_size=shard)
    return read(folder)


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto", output_loading_info=True)


def read(folder):
    model, info = load(folder)
    dtype = str(model.dtype).removeprefix("torch.")
    problems = {key: sorted(map(str, info[key])) for key in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    return {"dtype": dtype, "problems": problems, **facts(model)}


def adapter(base, folder, merged):
    import peft

    model, _ = load(base)
    config = peft.LoraConfig(
        r=4,
        lora_alpha=6,
        target_modules=["q_proj", "v_proj", "down_proj"],
        rank_pattern={"down_proj": 2},
        alpha_pattern={"layers.1.self_attn.v_proj": 10},
        task_type="CAUSAL_LM",
    )
    model = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    whole = model.merge_and_unload()
    whole.save_pretrained(merged)
    return facts(whole)


def adapt(base, folder):
    import peft

    model, _ = load(base)
    model = peft.PeftModel.from_pretrained(model, folder).eval()
    with torch.no_grad():
        return {"logits": model(TOKENS).logits[0].flatten().tolist()}


def tokens(folder, texts):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    asked = json.load(open(texts))
    ids = [tokenizer.encode(text, add_special_tokens=False) for text in asked["texts"]]
    decoded = [tokenizer.decode(each, skip_special_tokens=False, clean_up_tokenization_spaces=False) for each in ids]
    chats = [
        tokenizer.apply_chat_template(
            chat["messages"],
            tools=chat.get("tools"),
            add_generation_prompt=chat["addGenerationPrompt"],
            tokenize=False,
        )
        for chat in asked["chats"]
    ]
    chat_ids = [tokenizer.encode(chat, add_special_tokens=False) for chat in chats]
    return {"ids": ids, "decoded": decoded, "chats": chats, "chatIds": chat_ids}


command, *rest = sys.argv[1:]
print(json.dumps(globals()[command](*rest)))
