"""A training loop as one writes it over PyTorch, transformers and PEFT: loop.py, given JSON on standard input.

It has path, device, rank (0 = all weights), micro (sequences computed at once), recompute, turns, lr and sequences, all as
long. Weights are float32 and layers compute in bfloat16 (autocast), AdamW is fused; of an adapter, the base is bfloat16.
Prints one line of JSON: seconds of each step, most bytes of the GPU, and the loss of the first step.
"""

import json
import sys
import time

import torch
import transformers

work = json.load(sys.stdin)
device = torch.device(work["device"])
cuda = device.type == "cuda"
model = transformers.AutoModelForCausalLM.from_pretrained(
    work["path"], dtype=torch.bfloat16 if work["rank"] else torch.float32
).to(device)
if work["recompute"]:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
if work["rank"]:
    import peft

    lora = peft.LoraConfig(r=work["rank"], lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora)
model.train()
trained = [each for each in model.parameters() if each.requires_grad]
optimiser = torch.optim.AdamW(trained, lr=work["lr"], weight_decay=0.01, fused=True)
tokens = torch.tensor(work["sequences"], device=device)
places = tokens.numel() - len(tokens)


def step():
    total = 0.0
    for rows in tokens.split(work["micro"]):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = model(rows[:, :-1], use_cache=False).logits
        loss = (
            torch.nn.functional.cross_entropy(
                logits.float().flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"
            )
            / places
        )
        loss.backward()
        total += loss.detach()
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return float(total)


seconds, losses = [], []
for _ in range(work["turns"] + 1):
    begin = time.perf_counter()
    losses.append(step())
    if cuda:
        torch.cuda.synchronize()
    seconds.append(time.perf_counter() - begin)
print(
    json.dumps(
        {
            "seconds": seconds[1:],
            "bytes": torch.cuda.max_memory_allocated() if cuda else 0,
            "loss": losses[0],
        }
    )
)
