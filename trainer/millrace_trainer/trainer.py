"""
What every rank does, one command after the other: the same on all of them, at the same time.

The first rank broadcasts each command before it carries it out itself. Where one rank fails, all end: a job
makes its models again from its last state and the steps since.
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
from .passes import Scores, run
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
        self.ranks.broadcast((command, arguments))
        return getattr(self, command)(**arguments)

    def follow(self) -> None:
        """On all others, until the first one is through."""
        while True:
            command, arguments = self.ranks.receive()
            if command == STOP:
                return
            getattr(self, command)(**arguments)

    @property
    def current(self) -> Models:
        assert self.models is not None, "a model is created first"
        return self.models

    def create(self, model: str, shape: Shape, seed: int) -> None:
        """
        A model, and a network for it where there is none of its shape: then no model is left of the other.
        """
        if self.models is None or self.models.network.shape != shape:
            self.models = None
            log.info("reading %s for %s", self.options.model, shape)
            self.models = Models(build(self.options, shape, self.ranks))
            log.info("%d tensors are trained", len(self.models.network.trained))
        self.models.create(model, seed)

    def drop(self, model: str) -> None:
        self.current.drop(model)

    def score(
        self, model: str, sequences: list[Sequence], loss: tuple[str, Bounds], backward: bool
    ) -> list[Scores] | None:
        self.current.use(model)
        return run(
            self.current.network,
            self.ranks,
            sequences,
            loss,
            self.options.micro_batch_tokens,
            backward,
        )

    def step(self, model: str, adam: Adam) -> float:
        return self.current.step(model, adam)

    def save(self, model: str, folder: Path, about: dict[str, Any]) -> None:
        """What training goes on from, in shards; a later start may have another number of ranks."""
        with files.atomic_folder(folder, self.ranks.first, self.ranks.barrier) as partial:
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
        self.current.forget_gradients()

    def export(self, model: str, folder: Path) -> None:
        """An adapter in PEFT's layout, or all weights in transformers'."""
        self.current.use(model)
        network = self.current.network
        with files.atomic_folder(folder, self.ranks.first, self.ranks.barrier) as partial:
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
        self.current.use(model)
        state: dict[str, Any] = {
            f"value.{name}": value.detach() for name, value in self.current.network.trained.items()
        }
        if optimiser:
            for name, moments in self.current.moments(model).items():
                state.update({f"{key}.{name}": tensor for key, tensor in moments.items()})
        return {**state, "rng": torch.get_rng_state()}
