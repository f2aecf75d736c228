"""What the service is started with: the command line, read and checked."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

TOKEN_VARIABLE = "MILLRACE_TRAINER_TOKEN"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Options:
    model: Path
    """Hugging Face folder of the policy."""
    name: str
    """What clients call it."""
    host: str
    port: int
    checkpoints: Path
    """Folder for states and exported weights, shared by all machines."""
    precision: str
    """`bf16` computes in bfloat16 and trains float32 weights; `float32` does everything in float32."""
    lora_alpha: float
    lora_targets: str | list[str]
    micro_batch_tokens: int
    """Most tokens, padding included, that a rank computes at once."""
    gradient_checkpointing: bool
    attention: str | None
    models: int
    """Most models that a job may hold: what it trains, a reference, one that is tried out."""
    keep_states: int
    """Newest states and weights of each model that are kept; 0 = all."""
    silent_seconds: float
    """After so many seconds a silent job counts as over."""
    token: str | None
    device: str


def parse(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m millrace_trainer",
        description="Trains one policy for one job at a time. Start it by torchrun for several GPUs.",
    )
    add = parser.add_argument
    add("--model", type=Path, required=True, help="Hugging Face folder of the policy")
    add("--name", help="what clients call the policy; the folder as given by default")
    add(
        "--host",
        default="127.0.0.1",
        help="address to listen on (%(default)s); others than loopback need a token",
    )
    add("--port", type=int, default=8500, help="(%(default)s)")
    add(
        "--checkpoints",
        type=Path,
        default=Path("checkpoints"),
        help="folder for states and weights, shared by all machines (%(default)s)",
    )
    add(
        "--precision",
        choices=["bf16", "float32"],
        default="bf16",
        help="bf16 computes in bfloat16 and trains float32 weights (%(default)s)",
    )
    add(
        "--lora-alpha",
        type=float,
        default=32.0,
        help="of the adapter, if the client names none (%(default)s)",
    )
    add("--lora-targets", default="all-linear", help="names of modules, separated by commas (%(default)s)")
    add(
        "--micro-batch-tokens",
        type=int,
        default=8192,
        help="most tokens that a rank computes at once (%(default)s)",
    )
    add("--gradient-checkpointing", action="store_true", help="less memory, about a third more time")
    add(
        "--attention", help="implementation of attention, as transformers calls it; its own choice by default"
    )
    add("--models", type=int, default=4, help="most models that a job may hold at once (%(default)s)")
    add(
        "--keep-states",
        type=int,
        default=4,
        help="newest states and weights to keep of a model (%(default)s); 0 = all",
    )
    add(
        "--silent-seconds",
        type=float,
        default=60.0,
        help="seconds after which a silent job is over (%(default)s)",
    )
    add("--token-file", type=Path, help=f"file with the token that clients must send; else {TOKEN_VARIABLE}")
    add("--device", choices=["auto", "cpu", "cuda"], default="auto")
    given = parser.parse_args(arguments)
    token = token_of(given.token_file)
    if not (given.model / "config.json").is_file():
        parser.error(f"{given.model} holds no config.json: give a Hugging Face folder as --model")
    if token is None and given.host not in LOOPBACK:
        parser.error(f"anyone could train over {given.host}: give --token-file or set {TOKEN_VARIABLE}")
    for name in ("micro_batch_tokens", "models"):
        if getattr(given, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if given.keep_states < 0:
        parser.error("--keep-states must be at least 0")
    return Options(
        model=given.model,
        name=given.name or str(given.model),
        host=given.host,
        port=given.port,
        checkpoints=given.checkpoints.absolute(),
        precision=given.precision,
        lora_alpha=given.lora_alpha,
        lora_targets=targets_of(given.lora_targets),
        micro_batch_tokens=given.micro_batch_tokens,
        gradient_checkpointing=given.gradient_checkpointing,
        attention=given.attention,
        models=given.models,
        keep_states=given.keep_states,
        silent_seconds=given.silent_seconds,
        token=token,
        device=given.device,
    )


def token_of(file: Path | None) -> str | None:
    """The token from the file, else from the environment; it is in no log line and no error."""
    token = os.environ.get(TOKEN_VARIABLE, "") if file is None else file.read_text()
    if file is not None and token.strip() == "":
        raise SystemExit(f"{file} holds no token")
    return token.strip() or None


def targets_of(text: str) -> str | list[str]:
    return text if text == "all-linear" else [name.strip() for name in text.split(",")]
