"""One optimiser step of PyTorch and PEFT, written out plainly, for skyrl.test.ts: torchStep.py ASKED.json

ASKED has the folders of a policy and of a PEFT adapter, AdamW's numbers, the sequences (per token: id, mask, advantage, old and
reference log-prob; those of token t stand at place t) and one loss. It prints one line of JSON: the log-probs of all tokens but the first
before and after the step, the loss and the norm of its gradient. Only the adapter is trained; nothing is clipped to a norm.
"""

import json
import sys

import peft
import torch
import transformers

asked = json.load(open(sys.argv[1]))
base = transformers.AutoModelForCausalLM.from_pretrained(asked["policy"], dtype=torch.float32, attn_implementation="eager")
model = peft.PeftModel.from_pretrained(base, asked["adapter"], is_trainable=True).eval()
trained = [value for value in model.parameters() if value.requires_grad]
sequences = [{key: torch.tensor(value) for key, value in each.items()} for each in asked["sequences"]]


def log_probs():
    """One sequence at a time, so that nothing is padded."""
    for each in sequences:
        logits = model(each["tokens"][None]).logits[0, :-1]
        yield logits.log_softmax(-1).gather(-1, each["tokens"][1:, None])[:, 0]


def targets(key):
    return torch.cat([each[key][1:] for each in sequences])


def sft(new):
    """Mean of -log p over all target tokens."""
    mask = targets("mask")
    return -(torch.cat(new) * mask).sum() / mask.sum()


def clipped(new, low=0.2, high=0.2, dual=3.0):
    """max(-A r, -A clip(r)), for A < 0 at most -A c; mean over all target tokens."""
    mask, advantages = targets("mask"), targets("advantages")
    ratio = (torch.cat(new) - targets("oldLogProbs")).exp()
    loss = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - low, 1 + high))
    loss = torch.where(advantages < 0, torch.minimum(loss, -advantages * dual), loss)
    return (loss * mask).sum() / mask.sum()


def dpo(new, beta):
    """-log sigmoid of beta times the chosen sequence's log-ratio less the rejected one's; mean over the pairs."""
    ratios = torch.stack(
        [((lp - each["refLogProbs"][1:]) * each["mask"][1:]).sum() for lp, each in zip(new, sequences)]
    )
    return -torch.nn.functional.logsigmoid(beta * (ratios[0::2] - ratios[1::2])).mean()


losses = {"sft": sft, "clipped": clipped, "dpo": dpo}
adam = asked["adam"]
optimiser = torch.optim.AdamW(
    trained,
    lr=asked["lr"],
    betas=(adam["beta1"], adam["beta2"]),
    eps=adam["eps"],
    weight_decay=adam["weightDecay"],
)
before = list(log_probs())
loss = losses[asked["loss"]](before, **asked["settings"])
loss.backward()
norm = torch.nn.utils.clip_grad_norm_(trained, float("inf"))
optimiser.step()
with torch.no_grad():
    after = list(log_probs())
print(
    json.dumps(
        {
            "before": [each.tolist() for each in before],
            "after": [each.tolist() for each in after],
            "loss": loss.item(),
            "gradNorm": norm.item(),
        }
    )
)
