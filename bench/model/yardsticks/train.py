"""Training steps of PyTorch: transformers' Llama in float32, fused AdamW, clipping by the joint norm; adapters by PEFT.

Calls: versions, memory, open, batch, step. Times are in milliseconds.
"""

import time

import torch
import transformers
from lines import memory, serve

CLIP_LOW, CLIP_HIGH, CLIP_C = 0.2, 0.28, 3.0

state = {}
batches = {}


def versions():
    return {"torch": torch.__version__, "transformers": transformers.__version__}


PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def open_model(path, threads, lr, compile, rank=None):
    torch.set_num_threads(threads)
    # a network compiled for another number of threads is of no use
    torch._dynamo.reset()
    model = transformers.LlamaForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="sdpa")
    if rank is not None:
        import peft

        lora = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=PROJECTIONS, lora_dropout=0.0)
        model = peft.get_peft_model(model, lora)
    model.train()
    state["model"] = model
    state["forward"] = torch.compile(model) if compile else model
    state["optimiser"] = torch.optim.AdamW(
        [each for each in model.parameters() if each.requires_grad], lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True
    )


def hold(name, tokens, advantages, old):
    batches[name] = [torch.tensor(tokens), torch.tensor(advantages), torch.tensor(old)]


def cross_entropy(logits, targets, _advantages, _old):
    return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")


def clipped_policy(logits, targets, advantages, old):
    chosen = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0]
    ratio = (chosen - old).exp()
    worse = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - CLIP_LOW, 1 + CLIP_HIGH))
    return torch.where(advantages < 0, torch.minimum(worse, -advantages * CLIP_C), worse).sum()


LOSSES = {"sft": cross_entropy, "clipped": clipped_policy}


def step(batch, loss, rows):
    """One optimiser step over a batch [B, T + 1], `rows` rows at a time; the loss is the mean over its targets."""
    tokens, advantages, old = batches[batch]
    count = advantages[:, 1:].numel()
    start = time.perf_counter()
    state["optimiser"].zero_grad(set_to_none=True)
    total = 0.0
    for first in range(0, len(tokens), rows):
        part = slice(first, first + rows)
        logits = state["forward"](tokens[part, :-1], use_cache=False).logits.flatten(0, 1)
        given = (values[part, 1:].flatten() for values in (tokens, advantages, old))
        value = LOSSES[loss](logits, *given) / count
        value.backward()
        total += value.item()
    torch.nn.utils.clip_grad_norm_(state["model"].parameters(), 1.0)
    state["optimiser"].step()
    return {"loss": total, "ms": 1000 * (time.perf_counter() - start)}


serve({"versions": versions, "memory": memory, "open": open_model, "batch": hold, "step": step})
