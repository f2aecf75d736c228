"""
What clients ask for, on the first rank: each request checked, then computed in the order in which they came.

Requests arrive on the thread that serves HTTP (server.py) and are computed by the main one. What takes long
is answered with a future, whose result is there later.
"""

import asyncio
import json
import logging
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoConfig

from . import files, wire
from .metrics import Metrics
from .options import Options
from .registry import Future, ModelRecord, Refused, Registry
from .trainer import Trainer

log = logging.getLogger(__name__)

Body = dict[str, Any]
Work = Callable[[], Body | bytes]


class Service:
    def __init__(self, options: Options, trainer: Trainer, loop: asyncio.AbstractEventLoop) -> None:
        config = AutoConfig.from_pretrained(options.model).get_text_config()
        self.vocabulary: int = config.vocab_size
        self.positions: int = getattr(config, "max_position_embeddings", None) or 2**31
        self.options = options
        self.trainer = trainer
        self.loop = loop
        self.registry = Registry(options.models, options.silent_seconds)
        self.metrics = Metrics(trainer.ranks.size)
        self.queue: queue.Queue[tuple[Future, Work]] = queue.Queue()

    def compute(self) -> None:
        """Computes what is asked for until the process ends."""
        while True:
            future, work = self.queue.get()
            started = time.monotonic()
            status, body = self.answer(work)
            self.metrics.busy_seconds += time.monotonic() - started
            self.metrics.waiting = self.queue.qsize()
            self.loop.call_soon_threadsafe(future.finish, status, body)

    def answer(self, work: Work) -> tuple[int, bytes]:
        try:
            result = work()
            return 200, result if isinstance(result, bytes) else json.dumps(result).encode()
        except Refused as refused:
            return 400, json.dumps({"detail": refused.detail}).encode()

    def submit(self, work: Work) -> Future:
        future = self.registry.new_future()
        self.queue.put((future, work))
        self.metrics.waiting = self.queue.qsize()
        return future

    def submit_numbered(self, model: ModelRecord, route: str, body: Body, digest: str) -> str:
        """The future of a request; the one it had when it was made before."""
        number = body.get("seq_id")
        previous = self.registry.previous(model, number, digest)
        if previous is not None:
            return previous
        future = self.submit(self.numbered[route](self, model, body))
        if isinstance(number, int):
            model.requests[number] = (digest, future.id)
        return future.id

    # answered at once

    def config(self, body: Body) -> Body:
        return {"pjwt_auth_enabled": False}

    def create_session(self, body: Body) -> Body:
        return {"type": "create_session", "session_id": self.registry.open_session()}

    def heartbeat(self, body: Body) -> Body:
        self.registry.touch(body.get("session_id"))
        return {"type": "session_heartbeat"}

    def info(self, body: Body) -> Body:
        model = self.registry.model(body.get("model_id"))
        return {"model_id": model.id, "status": "created", "model_data": self.describe(model)}

    def weights_info(self, body: Body) -> Body:
        about = files.about(self.state_at(body.get("tinker_path")))
        return {"base_model": about["base_model"], "is_lora": about["rank"] > 0, "lora_rank": about["rank"]}

    def create(self, body: Body) -> Body:
        session = self.registry.touch(body.get("session_id"))
        if body.get("base_model") != self.options.name:
            raise Refused(
                400, f"base_model is {body.get('base_model')!r}: this service trains {self.options.name}"
            )
        number = body.get("model_seq_id")
        if isinstance(number, int) and (before := self.registry.created.get((session, number))):
            return pending(before[1], model_id=before[0])
        shape, seed = wire.shape_in(body, self.options.lora_alpha)
        for abandoned in self.registry.abandoned(session):
            log.info("model %s is given up: its job has been silent", abandoned.id)
            self.remove(abandoned)
        try:
            self.registry.check_room(session, shape)
        except Refused as refused:
            return pending(self.submit(refusing(refused)).id)
        model = self.registry.add(session, shape, seed)

        def work() -> Body:
            self.trainer.lead("create", model=model.id, shape=shape, seed=seed)
            return {"type": "create_model", "model_id": model.id, **self.describe(model)}

        future = self.submit(work)
        if isinstance(number, int):
            self.registry.created[(session, number)] = (model.id, future.id)
        return pending(future.id, model_id=model.id)

    # answered with a future

    def unload(self, model: ModelRecord, body: Body) -> Work:
        self.remove(model)
        return lambda: {"type": "unload_model", "model_id": model.id, "status": "unloaded"}

    def forward(self, model: ModelRecord, body: Body) -> Work:
        return self.run_pass(model, body.get("forward_input"), backward=False)

    def backward(self, model: ModelRecord, body: Body) -> Work:
        return self.run_pass(model, body.get("forward_backward_input"), backward=True)

    def run_pass(self, model: ModelRecord, given: Any, backward: bool) -> Work:
        if not isinstance(given, dict):
            raise Refused(422, "the input is missing")
        loss = wire.loss_in(given)
        ratio = wire.needs_ratio(loss[0], backward)
        sequences = wire.sequences_in(given, ratio, self.vocabulary, self.positions)
        model.has_gradients = model.has_gradients or backward

        def work() -> Body | bytes:
            scores = self.trainer.lead(
                "score", model=model.id, sequences=sequences, loss=loss, backward=backward
            )
            tokens = sum(len(each) for each in sequences)
            self.metrics.tokens += tokens
            self.metrics.trained_tokens += tokens if backward else 0
            packed = given.get("packed")
            if not isinstance(packed, wire.Packed):
                return wire.output(scores, sequences)
            return wire.packed_sums(scores, sequences, loss) if packed.sums else wire.packed_output(scores)

        return work

    def step(self, model: ModelRecord, body: Body) -> Work:
        adam = wire.adam_in(body)
        if not model.has_gradients:
            raise Refused(400, "there is no gradient: forward_backward comes first")
        model.has_gradients = False

        def work() -> Body:
            norm = self.trainer.lead("step", model=model.id, adam=adam)
            self.metrics.steps += 1
            self.metrics.grad_norm = norm
            return {"metrics": {"grad_norm": norm, "learning_rate": adam.learning_rate}}

        return work

    def save_state(self, model: ModelRecord, body: Body) -> Work:
        return self.save(model, body, files.STATES, "save", {"about": self.describe(model)})

    def save_snapshot(self, model: ModelRecord, body: Body) -> Work:
        return self.save(model, body, files.SNAPSHOTS, "export", {})

    def save(self, model: ModelRecord, body: Body, kind: str, command: str, more: Body) -> Work:
        name = body.get("path")
        if not isinstance(name, str) or files.NAME.fullmatch(name) is None:
            raise Refused(422, "path names a checkpoint: up to 255 letters, digits, _ and -")
        uri = files.address(model.id, kind, name)
        folder = self.options.checkpoints / model.id / kind / name
        check_unused(folder)

        def work() -> Body:
            check_unused(folder)
            started = time.monotonic()
            self.trainer.lead(command, model=model.id, folder=folder, **more)
            files.remove_old(folder.parent, self.options.keep_states)
            self.metrics.saves += 1
            self.metrics.save_seconds += time.monotonic() - started
            return {"type": body.get("type"), "path": uri, "sampling_session_id": None}

        return work

    def load(self, model: ModelRecord, body: Body) -> Work:
        folder = self.state_at(body.get("path"))
        about, optimiser = files.about(folder), body.get("optimizer", True) is True
        if (about["rank"], about["alpha"]) != (model.shape.rank, model.shape.alpha):
            raise Refused(400, f"{body.get('path')} is of rank {about['rank']} and alpha {about['alpha']}")
        model.has_gradients = False

        def work() -> Body:
            self.trainer.lead("load", model=model.id, folder=folder, optimiser=optimiser)
            files.pin(folder)
            return {"type": "load_weights"}

        return work

    def remove(self, model: ModelRecord) -> None:
        del self.registry.models[model.id]

        def work() -> Body:
            self.trainer.lead("drop", model=model.id)
            return {}

        self.submit(work)

    def state_at(self, uri: Any) -> Path:
        folder = files.folder_at(self.options.checkpoints, uri) if isinstance(uri, str) else None
        if folder is None or not (folder / files.ABOUT).is_file():
            raise Refused(400, f"Checkpoint not found: {uri}")
        return folder

    def describe(self, model: ModelRecord) -> Body:
        shape = model.shape
        config = {"rank": shape.rank, "alpha": shape.alpha, "seed": model.seed}
        return {
            "base_model": self.options.name,
            "rank": shape.rank,
            "alpha": shape.alpha,
            "lora_config": config,
        }

    immediate: ClassVar[dict[str, Callable[["Service", Body], Body]]] = {
        "client/config": config,
        "create_session": create_session,
        "session_heartbeat": heartbeat,
        "get_info": info,
        "weights_info": weights_info,
        "create_model": create,
    }
    numbered: ClassVar[dict[str, Callable[["Service", ModelRecord, Body], Work]]] = {
        "forward": forward,
        "forward_backward": backward,
        "optim_step": step,
        "save_weights": save_state,
        "save_weights_for_sampler": save_snapshot,
        "load_weights": load,
        "unload_model": unload,
    }


def check_unused(folder: Path) -> None:
    if folder.exists():
        raise Refused(409, f"Checkpoint '{folder.name}' already exists")


def pending(future: str, **more: Any) -> Body:
    return {"future_id": future, "request_id": future, "status": "pending", **more}


def refusing(refused: Refused) -> Work:
    def work() -> Body:
        raise refused

    return work
