"""Bodies of requests, read and checked: what is wrong with them is refused before any rank computes."""

from typing import Any

import numpy as np

from .batches import Floats, Sequence
from .losses import LOSSES, WITH_BOUNDS, WITH_RATIO, Bounds
from .models import Adam
from .network import Shape
from .passes import Scores
from .registry import Refused

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
    allowed = {"clip_low_threshold", "clip_high_threshold"} if name in WITH_BOUNDS else set()
    if odd := set(config) - allowed:
        raise Refused(422, f"loss_fn_config of {name} does not take {', '.join(sorted(odd))}")
    low, high = config.get("clip_low_threshold", 0.8), config.get("clip_high_threshold", 1.2)
    return name, Bounds(low=float(low), high=float(high))


def sequences_in(given: dict[str, Any], needs_ratio: bool, vocabulary: int, positions: int) -> list[Sequence]:
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
            "loss:sum": float(sum(each.losses.sum(dtype=np.float64) for each in scores)),
            "tokens:sum": sum(len(each) for each in sequences),
        },
    }


def tensor(values: Floats) -> dict[str, Any]:
    return {"data": values.tolist(), "dtype": "float32", "shape": [len(values)]}
