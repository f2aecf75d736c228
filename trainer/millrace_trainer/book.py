"""
The first rank's book: which job is here, which models it has, which requests were made, and what came
of them.

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
"""Of results that are kept for those who ask once more; the oldest go first."""


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
class Held:
    """A model."""

    id: str
    session: str
    shape: Shape
    seed: int
    numbers: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Digest of each numbered request, and its future."""
    gradients: bool = False
    """There are some since the last step."""


class Book:
    def __init__(self, models_max: int, silent_seconds: float) -> None:
        self.models_max = models_max
        self.silent_seconds = silent_seconds
        self.sessions: dict[str, float] = {}
        """When each was last heard of."""
        self.models: dict[str, Held] = {}
        self.futures: OrderedDict[str, Future] = OrderedDict()
        self.created: dict[tuple[str, int], tuple[str, str]] = {}
        """Model and future of each numbered `create_model`."""

    def open_session(self) -> str:
        session = f"session-{uuid.uuid4().hex[:12]}"
        self.sessions[session] = time.monotonic()
        return session

    def heard(self, session: Any) -> str:
        if not isinstance(session, str) or session not in self.sessions:
            raise Refused(404, "Session not found")
        self.sessions[session] = time.monotonic()
        return session

    def model(self, name: Any) -> Held:
        held = self.models.get(name)
        if held is None:
            raise Refused(
                404,
                f"Model {name} not found: the service was started again, or the job was silent for too long",
            )
        self.sessions[held.session] = time.monotonic()
        return held

    def fallen_silent(self, session: str) -> list[str]:
        """Models of other jobs that have said nothing for too long."""
        before = time.monotonic() - self.silent_seconds
        return [
            held.id
            for held in self.models.values()
            if held.session != session and self.sessions[held.session] < before
        ]

    def check_room(self, session: str, shape: Shape) -> None:
        """Whether this job can have one more model, of this shape."""
        others = {held.session for held in self.models.values()} - {session}
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
        if any(held.shape != shape for held in self.models.values()):
            raise Refused(400, "All models of a job have the same rank and alpha")

    def add(self, session: str, shape: Shape, seed: int) -> Held:
        held = Held(id=f"run-{uuid.uuid4().hex[:12]}", session=session, shape=shape, seed=seed)
        self.models[held.id] = held
        return held

    def future(self) -> Future:
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

    def known(self, held: Held, number: Any, digest: str) -> str | None:
        """The future that a request was answered with when it was made before."""
        before = held.numbers.get(number) if isinstance(number, int) else None
        if before is None:
            return None
        if before[0] != digest:
            raise Refused(409, f"seq_id {number} was another request")
        return before[1]
