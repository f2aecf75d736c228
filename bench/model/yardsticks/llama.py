"""Rollouts with llama.cpp: weights and cache in float32 or float16, continuous batching, one prefill for a group.

A row that ends is replaced at once. The prompt of a question is computed once, by the first of its rollouts, and
copied to the others (`llama_memory_seq_cp`). Tokens are drawn with NumPy from the whole vocabulary. Flash attention
is off: on the CPU it rounds to float16 on the way (log-probs were off by 1e-3). Calls: convert, open, score, generate.
Times are in milliseconds.
"""

import ctypes
import time

import gguf_file
import llama_cpp as llama
import numpy as np
from lines import serve

F32, F16 = 0, 1
state = {}


def convert(folder, path, half):
    gguf_file.write(folder, path, half)


def open_model(path, threads, rows, context, unified, half):
    """`rows` sequences of `context` tokens; `unified` = one cache for all of them instead of one each."""
    close()
    state["model"] = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    params = llama.llama_context_default_params()
    params.n_ctx = rows * context
    params.n_batch = params.n_ubatch = 2048
    params.n_seq_max = rows
    params.n_threads = params.n_threads_batch = threads
    params.type_k = params.type_v = F16 if half else F32
    params.flash_attn_type = 0
    params.kv_unified = unified
    params.no_perf = True
    state["context"] = llama.llama_init_from_model(state["model"], params)
    assert state["context"], "llama.cpp made no context"
    state["memory"] = llama.llama_get_memory(state["context"])
    state["vocabulary"] = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(state["model"]))
    state["batch"] = llama.llama_batch_init(params.n_batch, 0, 1)


def close():
    if "context" in state:
        llama.llama_batch_free(state["batch"])
        llama.llama_free(state["context"])
        llama.llama_model_free(state["model"])
        state.clear()


def decode(tokens, positions, rows, wanted):
    """Push tokens of rows; the logits [wanted, V] after those that are marked, in their order."""
    batch, count = state["batch"], len(tokens)
    view = lambda pointer: np.ctypeslib.as_array(pointer, (count,))
    batch.n_tokens = count
    view(batch.token)[:] = tokens
    view(batch.pos)[:] = positions
    view(batch.n_seq_id)[:] = 1
    view(batch.logits)[:] = wanted
    for place, row in enumerate(rows):
        batch.seq_id[place][0] = row
    assert llama.llama_decode(state["context"], batch) == 0
    pointer = llama.llama_get_logits(state["context"])
    return np.ctypeslib.as_array(pointer, (sum(wanted), state["vocabulary"]))


def score(tokens):
    """Log-prob of every token but the first."""
    count = len(tokens)
    logits = decode(tokens, range(count), [0] * count, [1] * count).astype(np.float64)
    llama.llama_memory_seq_rm(state["memory"], 0, -1, -1)
    shares = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return [shares[place, tokens[place + 1]] for place in range(count - 1)]


def generate(prompts, group, lengths, rows):
    """lengths[i] tokens for rollout i of prompts[i // group], at most `rows` at once."""
    random = np.random.default_rng(1)
    memory = state["memory"]
    remaining, position, token = (np.zeros(rows, np.int64) for _ in range(3))
    owner = [-1] * rows
    holders = {}
    following = 0
    made = 0
    start = time.perf_counter()
    while made < sum(lengths):
        for row in range(rows):
            if owner[row] >= 0 or following == len(lengths):
                continue
            question = following // group
            prompt = prompts[question]
            # all but the last token: that one is pushed with the next step
            whole = len(prompt) - 1
            if question in holders:
                llama.llama_memory_seq_cp(memory, holders[question], row, -1, -1)
                llama.llama_memory_seq_rm(memory, row, whole, -1)
            else:
                decode(prompt[:-1], range(whole), [row] * whole, [0] * (whole - 1) + [1])
            holders[question] = row
            owner[row], remaining[row], position[row], token[row] = question, lengths[following], whole, prompt[-1]
            following += 1
        active = np.flatnonzero(remaining)
        logits = decode(token[active], position[active], active.tolist(), [1] * len(active))
        # Gumbel: the largest of logit + noise is a draw from the softmax
        noise = random.gumbel(size=logits.shape).astype(np.float32)
        token[active] = (logits + noise).argmax(-1)
        position[active] += 1
        remaining[active] -= 1
        made += len(active)
        for row in active[remaining[active] == 0].tolist():
            release(row, owner, holders)
    ms = 1000 * (time.perf_counter() - start)
    llama.llama_memory_clear(memory, False)
    return {"ms": ms, "tokens": made}


def release(row, owner, holders):
    """Free a row; where it was the one that its group copies from, another takes that over."""
    question, owner[row] = owner[row], -1
    others = [each for each, of in enumerate(owner) if of == question]
    if holders.get(question) == row:
        del holders[question]
        if others:
            holders[question] = others[0]
    llama.llama_memory_seq_rm(state["memory"], row, -1, -1)


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def quiet(_level, _text, _data):
    pass


llama.llama_log_set(quiet, ctypes.c_void_p(0))
llama.llama_backend_init()
serve({"convert": convert, "open": open_model, "score": score, "generate": generate})
