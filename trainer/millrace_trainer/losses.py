"""
Losses of the wire, a number for each token; their sum over all tokens is what is minimised.

Of a token: its log-prob now, w its weight, A its advantage, r the ratio of its probability now to that
when it was sampled. `ppo`, `cispo` and `clipped` take bounds of the ratio itself, 0.8 and 1.2 by default.
Clients build any other loss of log-probs from `forward` and `importance_sampling`: at r = 1 its slope is -wA.
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
    dual: float = 3.0
    """The most that a token of a negative advantage may cost, times that advantage (Ye et al. 2020)."""
    keep: float = 0.0
    """1 = a token clipped from above keeps the gradient of the bound (AEPO)."""


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


def clipped(now: Tensor, given: Targets, bounds: Bounds) -> Tensor:
    """
    Millrace's own loss (model/losses/clipped.ts). The slope is stated and not derived, so that ties are
    decided as there.
    """
    ratio = (now.detach() - given.old).exp()
    down, negative = -given.advantages, given.advantages < 0
    plain, bound = down * ratio, down * ratio.clamp(bounds.low, bounds.high)
    worse, cap = torch.maximum(plain, bound), down * bounds.dual
    losses = torch.where(negative, torch.minimum(worse, cap), worse)
    zero = torch.zeros_like(ratio)
    kept = torch.where(negative, zero, bound * bounds.keep)
    slope = torch.where(negative & (worse >= cap), zero, torch.where(plain >= bound, plain, kept))
    return given.weights * (losses + slope * (now - now.detach()))


LOSSES: dict[str, Callable[[Tensor, Targets, Bounds], Tensor]] = {
    "cross_entropy": cross_entropy,
    "importance_sampling": importance_sampling,
    "ppo": ppo,
    "cispo": cispo,
    "clipped": clipped,
}
WITH_RATIO = frozenset({"importance_sampling", "ppo", "cispo", "clipped"})
SETTINGS = {
    "clip_low_threshold": "low",
    "clip_high_threshold": "high",
    "clip_dual": "dual",
    "keep_clipped": "keep",
}
"""Names of the wire, and of `Bounds`."""
TAKES = {"ppo": ("low", "high"), "cispo": ("low", "high"), "clipped": ("low", "high", "dual", "keep")}
AS_MILLRACE = ("clipped", "cispo")
"""What Millrace need not build from two passes."""
