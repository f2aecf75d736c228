"""
Losses of the wire, a number for each token; their sum over all tokens is what is minimised.

Of a token: its log-prob now, w its weight, A its advantage, r the ratio of its probability now to that
when it was sampled. `ppo` and `cispo` take bounds of the ratio itself, 0.8 and 1.2 by default. Clients
build any other loss of log-probs from `forward` and `importance_sampling`: at r = 1 its slope is -wA.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Targets:
    """Per token, all of one shape."""

    weights: Tensor
    advantages: Tensor
    old: Tensor
    """Log-probs when they were sampled."""


@dataclass(frozen=True)
class Bounds:
    low: float = 0.8
    high: float = 1.2


def cross_entropy(now: Tensor, given: Targets, bounds: Bounds) -> Tensor:
    return -given.weights * now


def importance_sampling(now: Tensor, given: Targets, bounds: Bounds) -> Tensor:
    return -given.weights * (now - given.old).exp() * given.advantages


def ppo(now: Tensor, given: Targets, bounds: Bounds) -> Tensor:
    ratio = (now - given.old).exp()
    clipped = ratio.clamp(bounds.low, bounds.high)
    return -given.weights * torch.minimum(ratio * given.advantages, clipped * given.advantages)


def cispo(now: Tensor, given: Targets, bounds: Bounds) -> Tensor:
    ratio = (now - given.old).exp().clamp(bounds.low, bounds.high).detach()
    return -given.weights * ratio * now * given.advantages


LOSSES: dict[str, Callable[[Tensor, Targets, Bounds], Tensor]] = {
    "cross_entropy": cross_entropy,
    "importance_sampling": importance_sampling,
    "ppo": ppo,
    "cispo": cispo,
}
WITH_RATIO = frozenset({"importance_sampling", "ppo", "cispo"})
WITH_BOUNDS = frozenset({"ppo", "cispo"})
