"""
Passes of sequences through the network: their log-probs, and the gradient of a loss with respect to the
trainable parameters.

The gradient is that of the sum over all tokens of the request, however they are split. Every rank adds up
its own tokens and FSDP averages over ranks, so each rank multiplies its loss by their number. All ranks
make the same number of passes.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .batches import DUMMY, Floats, Sequence, split
from .losses import LOSSES, Bounds, Targets
from .network import Network
from .ranks import Ranks

TOKENS_AT_ONCE = 1024
"""Whose log-probs are computed together: no more float32 logits are held."""


@dataclass(frozen=True)
class Scores:
    """Of one sequence, a number for each token."""

    log_probs: Floats
    losses: Floats


def run(
    network: Network,
    ranks: Ranks,
    sequences: list[Sequence],
    loss: tuple[str, Bounds],
    tokens_max: int,
    backward: bool,
) -> list[Scores] | None:
    """Scores of every sequence, on the first rank. `backward` adds the gradient to what is there."""
    computed: list[tuple[list[int], Tensor, Tensor]] = []
    network.renew()
    for parts in split([len(each) for each in sequences], ranks.size, tokens_max):
        indices = parts[ranks.rank]
        rows = [sequences[index] for index in indices] or [DUMMY]
        with torch.set_grad_enabled(backward):
            now, losses = losses_of(network, ranks, rows, loss)
            if backward:
                (losses.sum() * ranks.size).backward()
        computed.append((indices, now.detach(), losses.detach()))
    network.release()
    # copied to the host only now: a GPU would wait for each copy
    own: dict[int, Scores] = {}
    for indices, *values in computed:
        for index, *numbers in zip(indices, *(each.float().cpu().numpy() for each in values), strict=False):
            length = len(sequences[index])
            own[index] = Scores(*(each[:length].copy() for each in numbers))
    gathered = ranks.gather(own)
    if gathered is None:
        return None
    every = {index: scores for part in gathered for index, scores in part.items()}
    return [every[index] for index in range(len(sequences))]


def losses_of(
    network: Network, ranks: Ranks, rows: list[Sequence], loss: tuple[str, Bounds]
) -> tuple[Tensor, Tensor]:
    """Log-probs and losses, a row for each sequence; padding behind a shorter one weighs nothing."""
    width = max(len(row) for row in rows)

    def padded(key: str) -> Tensor:
        values = [np.pad(getattr(row, key), (0, width - len(row))) for row in rows]
        return torch.from_numpy(np.stack(values)).to(ranks.device)

    # attention only looks back, so padding behind a sequence needs no mask
    logits = network.model(input_ids=padded("tokens"), use_cache=False).logits
    now = log_probs_of(logits.flatten(0, 1), padded("targets").flatten()).view(len(rows), width)
    targets = Targets(weights=padded("weights"), advantages=padded("advantages"), old=padded("old"))
    name, bounds = loss
    return now, LOSSES[name](now, targets, bounds)


def log_probs_of(logits: Tensor, targets: Tensor) -> Tensor:
    parts = [
        checkpoint(log_probs, some, those, use_reentrant=False)
        if torch.is_grad_enabled()
        else log_probs(some, those)
        for some, those in zip(logits.split(TOKENS_AT_ONCE), targets.split(TOKENS_AT_ONCE), strict=True)
    ]
    return torch.cat(parts)


def log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    return -torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none")
