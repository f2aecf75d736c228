"""Metrics of the service for Prometheus."""

import time
from dataclasses import dataclass, field

PREFIX = "millrace_trainer_"


@dataclass
class Metrics:
    ranks: int
    began: float = field(default_factory=time.monotonic)
    tokens: int = 0
    trained_tokens: int = 0
    steps: int = 0
    busy_seconds: float = 0.0
    grad_norm: float = float("nan")
    waiting: int = 0
    models: int = 0
    saves: int = 0
    save_seconds: float = 0.0

    def text(self) -> str:
        rows = [
            ("ranks", "gauge", "Processes that train", self.ranks),
            ("up_seconds", "gauge", "Since the start", time.monotonic() - self.began),
            ("tokens_total", "counter", "Tokens that went through the network", self.tokens),
            (
                "trained_tokens_total",
                "counter",
                "Tokens that a gradient was computed for",
                self.trained_tokens,
            ),
            ("steps_total", "counter", "Steps of the optimiser", self.steps),
            (
                "busy_seconds_total",
                "counter",
                "Time spent computing and saving",
                self.busy_seconds,
            ),
            ("grad_norm", "gauge", "Gradient norm of the last step, before clipping", self.grad_norm),
            ("requests_waiting", "gauge", "Requests that are not computed yet", self.waiting),
            ("models", "gauge", "Models of the job", self.models),
            ("saves_total", "counter", "States and weights that were written", self.saves),
            ("save_seconds_total", "counter", "Time spent writing them", self.save_seconds),
        ]
        lines = [
            line
            for name, kind, what, value in rows
            for line in (
                f"# HELP {PREFIX}{name} {what}",
                f"# TYPE {PREFIX}{name} {kind}",
                f"{PREFIX}{name} {value}",
            )
        ]
        return "\n".join(lines) + "\n"
