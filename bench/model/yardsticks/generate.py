"""Rollouts with `generate` of transformers: static batches, every row with its own number of tokens.

Calls: open, score, generate. Times are in milliseconds.
"""

import time

import torch
import transformers
from lines import serve

state = {}


class Lengths(transformers.StoppingCriteria):
    """A row is done when it has its own number of tokens; the batch is done when all rows are."""

    def __init__(self, ends):
        self.ends = torch.tensor(ends)

    def __call__(self, input_ids, scores, **_):
        return input_ids.shape[1] >= self.ends


def open_model(path, threads):
    torch.set_num_threads(threads)
    state["model"] = transformers.LlamaForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


@torch.inference_mode()
def score(tokens):
    """Log-prob of every token but the first."""
    ids = torch.tensor([tokens])
    shares = torch.log_softmax(state["model"](ids).logits[0, :-1], -1)
    return shares.gather(1, ids[0, 1:, None])[:, 0].tolist()


@torch.inference_mode()
def generate(prompts, lengths, rows):
    """lengths[i] tokens for each prompt, `rows` prompts at a time, drawn at temperature 1 from all tokens."""
    torch.manual_seed(1)
    made = 0
    start = time.perf_counter()
    for first in range(0, len(prompts), rows):
        ids = torch.tensor(prompts[first : first + rows])
        wanted = lengths[first : first + rows]
        ends = [ids.shape[1] + length for length in wanted]
        out = state["model"].generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=max(wanted),
            stopping_criteria=transformers.StoppingCriteriaList([Lengths(ends)]),
            eos_token_id=None,
            pad_token_id=0,
        )
        assert out.shape[1] == max(ends)
        made += sum(wanted)
    return {"ms": 1000 * (time.perf_counter() - start), "tokens": made}


serve({"open": open_model, "score": score, "generate": generate})
