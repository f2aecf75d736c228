"""
Bodies of requests, read and checked: what is wrong with them is refused before any rank computes.

The two passes come as JSON, as in the Tinker API, or with packed numbers (Millrace's model/tinker/packed.ts),
and are answered in the same way: decimal text costs both sides many times as much.
"""

import json
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batches import Floats, Sequence
from .losses import LOSSES, SETTINGS, TAKES, WITH_RATIO, Bounds
from .models import Adam
from .network import Shape
from .passes import Scores
from .registry import Refused

MAGIC = b"MILLPAK1"
MEDIA_TYPE = "application/vnd.millrace.packed"


@dataclass(frozen=True)
class Packed:
    """Sequences of a request as they came: lengths, names of the tensors, and the numbers."""

    lengths: list[int]
    tensors: list[str]
    numbers: memoryview
    sums: bool
    """Sums are enough of a reply."""


OF_LOSS = {"weights": 1.0, "advantages": 0.0, "logprobs": 0.0}
"""Tensors of a sequence, and what they hold when they are left out."""


def shape_in(body: dict[str, Any], alpha: float) -> tuple[Shape, int]:
    """What a new model trains, and the seed of its adapters."""
    config = body.get("lora_config") or {}
    rank, seed = config.get("rank", 0), config.get("seed") or 0
    if not isinstance(rank, int) or rank < 0 or not isinstance(seed, int):
        raise Refused(
            422, "lora_config takes a rank of at least 0 (0 = all weights) and a whole number as seed"
        )
    if rank == 0:
        return Shape(rank=0, alpha=0.0), seed
    return Shape(rank=rank, alpha=float(config.get("alpha") or alpha)), seed


def loss_in(given: dict[str, Any]) -> tuple[str, Bounds]:
    name, config = given.get("loss_fn"), given.get("loss_fn_config") or {}
    if name not in LOSSES:
        raise Refused(422, f"loss_fn is {name!r}: this service has {', '.join(LOSSES)}")
    takes = TAKES.get(name, ())
    if odd := [key for key in sorted(config) if SETTINGS.get(key) not in takes]:
        raise Refused(422, f"loss_fn_config of {name} does not take {', '.join(odd)}")
    return name, Bounds(**{SETTINGS[key]: float(value) for key, value in config.items()})


def unpacked(raw: bytes) -> dict[str, Any]:
    """A packed request as the body that it stands for."""
    begin = len(MAGIC) + 4
    end = begin + int.from_bytes(raw[len(MAGIC) : begin], "little")
    try:
        head = json.loads(raw[begin:end])
        route, lengths, tensors = head["type"], head["lengths"], head["tensors"]
        numbers = sum(lengths) * (1 + len(tensors)) + len(lengths)
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(422, f"the packed body cannot be read: {type(error).__name__} {error}") from error
    if (
        any(length < 1 for length in lengths)
        or not set(tensors) <= OF_LOSS.keys()
        or len(raw) != end + 4 * numbers
    ):
        raise Refused(422, "the packed body does not have the numbers that it names")
    given = {"loss_fn": head.get("loss_fn"), "loss_fn_config": head.get("loss_fn_config")}
    packed = Packed(lengths, tensors, memoryview(raw)[end:], head.get("sums") is True)
    return {**head, f"{route}_input": {**given, "packed": packed}}


def packed_sequences(packed: Packed, needs_ratio: bool, vocabulary: int, positions: int) -> list[Sequence]:
    count, places = len(packed.lengths), sum(packed.lengths)
    tokens = np.frombuffer(packed.numbers, "<i4", places + count).astype(np.int64)
    if longest := max(packed.lengths) if max(packed.lengths) > positions else 0:
        raise Refused(422, f"a datum has {longest} tokens, and the policy takes {positions}")
    if tokens.min() < 0 or tokens.max() >= vocabulary:
        raise Refused(422, f"a datum has a token outside of 0 to {vocabulary - 1}")
    if needs_ratio and not {"advantages", "logprobs"} <= set(packed.tensors):
        raise Refused(422, "the datums lack advantages or logprobs, which their loss needs")
    values = {key: np.full(places, otherwise, np.float32) for key, otherwise in OF_LOSS.items()}
    for number, key in enumerate(packed.tensors):
        begin = 4 * (places + count + number * places)
        values[key] = np.frombuffer(packed.numbers, "<f4", places, begin).astype(np.float32)
        if not np.isfinite(values[key]).all():
            raise Refused(422, f"{key} has numbers that are not finite")
    sequences = []
    at = 0
    for row, length in enumerate(packed.lengths):
        begin = at + row
        of_row = slice(at, at + length)
        sequences.append(
            Sequence(
                tokens[begin : begin + length],
                tokens[begin + 1 : begin + length + 1],
                values["weights"][of_row],
                values["advantages"][of_row],
                values["logprobs"][of_row],
            )
        )
        at += length
    return sequences


def packed_output(scores: list[Scores]) -> bytes:
    """The log-probs alone: what else JSON says of the passes is not read by who packs."""
    return packed_reply({"lengths": [len(each.log_probs) for each in scores]}, scores)


def packed_sums(scores: list[Scores], sequences: list[Sequence], loss: tuple[str, Bounds]) -> bytes:
    """Sums over the tokens with a weight; what is not finite is null."""
    sums = {"loss": loss_of(scores), **sums_of(scores, sequences, *loss)}
    return packed_reply({key: value if isfinite(value) else None for key, value in sums.items()}, [])


def packed_reply(said: dict[str, Any], scores: list[Scores]) -> bytes:
    head = json.dumps(said).encode()
    head += b" " * (-len(head) % 4)
    numbers = [np.asarray(each.log_probs, "<f4").tobytes() for each in scores]
    return b"".join([MAGIC, len(head).to_bytes(4, "little"), head, *numbers])


def sequences_in(given: dict[str, Any], needs_ratio: bool, vocabulary: int, positions: int) -> list[Sequence]:
    packed = given.get("packed")
    if isinstance(packed, Packed) and packed.lengths:
        return packed_sequences(packed, needs_ratio, vocabulary, positions)
    data = given.get("data") or []
    if not data:
        raise Refused(422, "data is empty")
    return [sequence_in(datum, row, needs_ratio, vocabulary, positions) for row, datum in enumerate(data)]


def sequence_in(
    datum: dict[str, Any], row: int, needs_ratio: bool, vocabulary: int, positions: int
) -> Sequence:
    try:
        inputs = datum["loss_fn_inputs"]
        tokens = np.array(
            [token for chunk in datum["model_input"]["chunks"] for token in chunk["tokens"]], np.int64
        )
        targets = np.array(inputs["target_tokens"]["data"], np.int64)
        values = {key: floats(inputs, key, len(tokens), otherwise) for key, otherwise in OF_LOSS.items()}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Refused(422, f"datum {row} cannot be read: {type(error).__name__} {error}") from error
    wrong = [key for key, value in {"target_tokens": targets, **values}.items() if len(value) != len(tokens)]
    if wrong or len(tokens) == 0:
        raise Refused(
            422, f"datum {row} has {len(tokens)} tokens, and other lengths of {', '.join(wrong) or 'nothing'}"
        )
    if len(tokens) > positions:
        raise Refused(422, f"datum {row} has {len(tokens)} tokens, and the policy takes {positions}")
    if min(tokens.min(), targets.min()) < 0 or max(tokens.max(), targets.max()) >= vocabulary:
        raise Refused(422, f"datum {row} has a token outside of 0 to {vocabulary - 1}")
    if not all(np.isfinite(value).all() for value in values.values()):
        raise Refused(422, f"datum {row} has numbers that are not finite")
    if needs_ratio and not {"advantages", "logprobs"} <= inputs.keys():
        raise Refused(422, f"datum {row} lacks advantages or logprobs, which its loss needs")
    return Sequence(tokens, targets, values["weights"], values["advantages"], values["logprobs"])


def floats(inputs: dict[str, Any], key: str, length: int, otherwise: float) -> Floats:
    if key not in inputs:
        return np.full(length, otherwise, np.float32)
    return np.array(inputs[key]["data"], np.float32)


def needs_ratio(loss: str, backward: bool) -> bool:
    return backward and loss in WITH_RATIO


def adam_in(body: dict[str, Any]) -> Adam:
    given = body.get("adam_params") or {}
    try:
        return Adam(
            learning_rate=float(given["learning_rate"]),
            beta1=float(given.get("beta1", 0.9)),
            beta2=float(given.get("beta2", 0.95)),
            eps=float(given.get("eps", 1e-12)),
            weight_decay=float(given.get("weight_decay", 0.0)),
            grad_clip_norm=float(given.get("grad_clip_norm") or 0.0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(422, f"adam_params cannot be read: {type(error).__name__} {error}") from error


def output(scores: list[Scores], sequences: list[Sequence]) -> dict[str, Any]:
    return {
        "loss_fn_output_type": "scalar",
        "loss_fn_outputs": [
            {"logprobs": tensor(each.log_probs), "elementwise_loss": tensor(each.losses)} for each in scores
        ],
        "metrics": {
            "loss:sum": loss_of(scores),
            "tokens:sum": sum(len(each) for each in sequences),
        },
    }


def sums_of(scores: list[Scores], sequences: list[Sequence], name: str, bounds: Bounds) -> dict[str, float]:
    """Clipped tokens, and how far log-probs are from those when tokens were sampled (model/losses/parts/rollouts.ts)."""
    tokens, clipped, drift, apart, apart_max = 0, 0, 0.0, 0.0, 0.0
    for score, row in zip(scores, sequences, strict=True):
        weighed = row.weights != 0
        change = row.old[weighed].astype(np.float64) - score.log_probs[weighed]
        tokens += len(change)
        clipped += int(held(name, bounds, np.exp(-change), row.advantages[weighed]).sum())
        drift += float(change.sum())
        apart += float(np.abs(change).sum())
        apart_max = float(np.abs(change).max(initial=apart_max))
    return {"tokens": tokens, "clipped": clipped, "drift": drift, "apart": apart, "apart_max": apart_max}


def held(name: str, bounds: Bounds, ratio: NDArray[np.float64], advantage: Floats) -> NDArray[np.bool_]:
    """Tokens that the clipping holds, as Millrace counts them."""
    if name == "cispo":
        return (ratio < bounds.low) | (ratio > bounds.high)
    return -advantage * ratio.clip(bounds.low, bounds.high) > -advantage * ratio


def loss_of(scores: list[Scores]) -> float:
    return float(sum(each.losses.sum(dtype=np.float64) for each in scores))


def tensor(values: Floats) -> dict[str, Any]:
    return {"data": values.tolist(), "dtype": "float32", "shape": [len(values)]}
