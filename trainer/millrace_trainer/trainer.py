"""
What every rank does, one command after the other: the same on all of them, at the same time.

The first rank tells the others each command before it does it itself. Where one rank fails, all end:
what the models held was not more than what a state and the steps since give once more.
"""

import json
import logging
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp

from . import exports, files
from .batches import Sequence
from .losses import Bounds
from .models import Adam, Models
from .network import Shape, build
from .options import Options
from .passes import Said, run
from .ranks import Ranks

log = logging.getLogger(__name__)
STOP = "stop"


class Trainer:
    def __init__(self, options: Options, ranks: Ranks) -> None:
        self.options = options
        self.ranks = ranks
        self.models: Models | None = None

    def lead(self, command: str, **arguments: Any) -> Any:
        """On the first rank: a command for all."""
        self.ranks.tell((command, arguments))
        return getattr(self, command)(**arguments)

    def follow(self) -> None:
        """On all others, until the first one is through."""
        while True:
            command, arguments = self.ranks.hear()
            if command == STOP:
                return
            getattr(self, command)(**arguments)

    @property
    def here(self) -> Models:
        assert self.models is not None, "a model is made first"
        return self.models

    def create(self, model: str, shape: Shape, seed: int) -> None:
        """
        A model; a network for it where the one that is there has another shape, which no model may have
        then.
        """
        if self.models is None or self.models.network.shape != shape:
            self.models = None
            log.info("reading %s for %s", self.options.model, shape)
            self.models = Models(build(self.options, shape, self.ranks))
            log.info("%d tensors are trained", len(self.models.network.trained))
        self.models.create(model, seed)

    def drop(self, model: str) -> None:
        self.here.drop(model)

    def score(
        self, model: str, sequences: list[Sequence], loss: tuple[str, Bounds], backward: bool
    ) -> list[Said] | None:
        self.here.use(model)
        return run(
            self.here.network,
            self.ranks,
            sequences,
            loss,
            self.options.micro_batch_tokens,
            backward,
        )

    def step(self, model: str, adam: Adam) -> float:
        return self.here.step(model, adam)

    def save(self, model: str, folder: Path, about: dict[str, Any]) -> None:
        """What training goes on from, sharded as it is; a later start may have another number of ranks."""
        with files.whole(folder, self.ranks.first, self.ranks.barrier) as partial:
            writer = dcp.FileSystemWriter(partial)
            dcp.save(
                self.state(model, optimiser=True), storage_writer=writer, process_group=self.ranks.control
            )
            if self.ranks.first:
                (partial / files.ABOUT).write_text(json.dumps(about, indent=2) + "\n")

    def load(self, model: str, folder: Path, optimiser: bool) -> None:
        state = self.state(model, optimiser)
        reader = dcp.FileSystemReader(folder)
        dcp.load(state, storage_reader=reader, process_group=self.ranks.control)
        torch.set_rng_state(state["rng"])
        self.here.forget_gradients()

    def export(self, model: str, folder: Path) -> None:
        """An adapter in PEFT's layout, or all weights in transformers'."""
        self.here.use(model)
        network = self.here.network
        with files.whole(folder, self.ranks.first, self.ranks.barrier) as partial:
            whole = network.lora is None
            dtype = exports.dtype_of(self.options.model, self.options.precision) if whole else torch.float32
            values = exports.gathered(network, self.ranks.first, dtype)
            if not self.ranks.first:
                pass
            elif whole:
                exports.write_policy(network, values, self.options.model, partial)
            else:
                exports.write_adapter(network, values, self.options.name, partial)

    def state(self, model: str, optimiser: bool) -> dict[str, Any]:
        """Tensors that are saved, or read into."""
        self.here.use(model)
        state: dict[str, Any] = {
            f"value.{name}": value.detach() for name, value in self.here.network.trained.items()
        }
        if optimiser:
            for name, moments in self.here.moments(model).items():
                state.update({f"{key}.{name}": tensor for key, tensor in moments.items()})
        return {**state, "rng": torch.get_rng_state()}
