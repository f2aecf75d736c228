"""Sequences of a request, and how they are split over ranks and micro-batches."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Sequence:
    """Place j holds token j, and the target, weight and so on of the token after it."""

    tokens: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: Floats
    advantages: Floats
    old: Floats

    def __len__(self) -> int:
        return len(self.tokens)


DUMMY = Sequence(
    tokens=np.zeros(1, np.int64),
    targets=np.zeros(1, np.int64),
    weights=np.zeros(1, np.float32),
    advantages=np.zeros(1, np.float32),
    old=np.zeros(1, np.float32),
)
"""What a rank computes while others have more to do: a gradient of zero."""


def split(lengths: list[int], ranks: int, tokens_max: int) -> list[list[list[int]]]:
    """
    Rounds of micro-batches, one for each rank (which may be empty), of indices of sequences.

    A micro-batch has at most `tokens_max` tokens with its padding, or one longer sequence. The longest
    go first, so those computed at the same time are about as long.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    total = sum(lengths)
    rounds = -(-total // (tokens_max * ranks))
    share = -(-total // (rounds * ranks))
    parts: list[list[int]] = []
    width = 0
    for index in order:
        if parts and width * (len(parts[-1]) + 1) <= min(tokens_max, max(share, width)):
            parts[-1].append(index)
        else:
            parts.append([index])
            width = lengths[index]
    while len(parts) % ranks:
        parts.append([])
    return [parts[at : at + ranks] for at in range(0, len(parts), ranks)]
