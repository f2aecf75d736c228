"""
What the first rank knows of its clients: the job that is here, its models, the requests that were made and
their results.

A request is known by its model and its number: sent once more it is the same request, and is not
computed again. Another request under the same number is refused.
"""

import asyncio
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from .network import Shape

RESULTS_BYTES_MAX = 512 * 1024 * 1024
"""Of results that are kept for clients that ask once more; the oldest go first."""


class Refused(Exception):
    """What the client asked for is not done, and why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


@dataclass
class Future:
    id: str
    done: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 0
    body: bytes = b""

    def finish(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body
        self.done.set()


@dataclass
class ModelRecord:
    id: str
    session: str
    shape: Shape
    seed: int
    requests: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Digest of each numbered request, and its future."""
    has_gradients: bool = False
    """Since the last step."""


class Registry:
    def __init__(self, models_max: int, silent_seconds: float) -> None:
        self.models_max = models_max
        self.silent_seconds = silent_seconds
        self.sessions: dict[str, float] = {}
        """When each was last heard from."""
        self.models: dict[str, ModelRecord] = {}
        self.futures: OrderedDict[str, Future] = OrderedDict()
        self.created: dict[tuple[str, int], tuple[str, str]] = {}
        """Model and future of each numbered `create_model`."""

    def open_session(self) -> str:
        session = f"session-{uuid.uuid4().hex[:12]}"
        self.sessions[session] = time.monotonic()
        return session

    def touch(self, session: Any) -> str:
        if not isinstance(session, str) or session not in self.sessions:
            raise Refused(404, "Session not found")
        self.sessions[session] = time.monotonic()
        return session

    def model(self, name: Any) -> ModelRecord:
        model = self.models.get(name)
        if model is None:
            raise Refused(
                404,
                f"Model {name} not found: the service was started again, or the job was silent for too long",
            )
        self.sessions[model.session] = time.monotonic()
        return model

    def abandoned(self, session: str) -> list[ModelRecord]:
        """Models of other jobs that have been silent for too long."""
        before = time.monotonic() - self.silent_seconds
        return [
            model
            for model in self.models.values()
            if model.session != session and self.sessions[model.session] < before
        ]

    def check_room(self, session: str, shape: Shape) -> None:
        """Whether this job can have one more model, of this shape."""
        others = {model.session for model in self.models.values()} - {session}
        if others:
            raise Refused(
                400,
                f"Maximum number of jobs (1) reached: this service trains one job at a time, and "
                f"{others.pop()} is at work. It is over when it gives its models back, or says nothing "
                f"for {self.silent_seconds:g} s",
            )
        if len(self.models) >= self.models_max:
            raise Refused(
                400, f"Maximum number of models of a job ({self.models_max}) reached: --models sets it"
            )
        if any(model.shape != shape for model in self.models.values()):
            raise Refused(400, "All models of a job have the same rank and alpha")

    def add(self, session: str, shape: Shape, seed: int) -> ModelRecord:
        model = ModelRecord(id=f"run-{uuid.uuid4().hex[:12]}", session=session, shape=shape, seed=seed)
        self.models[model.id] = model
        return model

    def new_future(self) -> Future:
        future = Future(uuid.uuid4().hex)
        self.futures[future.id] = future
        self.forget_results()
        return future

    def forget_results(self) -> None:
        kept = sum(len(future.body) for future in self.futures.values())
        for future in list(self.futures.values()):
            if kept <= RESULTS_BYTES_MAX:
                return
            if future.done.is_set() and future.body:
                kept -= len(future.body)
                del self.futures[future.id]

    def previous(self, model: ModelRecord, number: Any, digest: str) -> str | None:
        """The future of this request when it was made before."""
        before = model.requests.get(number) if isinstance(number, int) else None
        if before is None:
            return None
        if before[0] != digest:
            raise Refused(409, f"seq_id {number} was another request")
        return before[1]
