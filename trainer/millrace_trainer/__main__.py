"""
Starts the service: alone, or on every GPU by torchrun.

    python -m millrace_trainer --model FOLDER
    torchrun --nproc-per-node 8 -m millrace_trainer --model FOLDER --port 8500
"""

import asyncio
import logging
import os
import signal
import socket
import sys

import torch
import transformers

from . import files, options, ranks
from .server import Server
from .service import Service
from .trainer import STOP, Trainer

log = logging.getLogger("millrace_trainer")


def main() -> None:
    chosen = options.parse()
    # whatever is saved is saved whole, so the process may end at any time
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    transformers.utils.logging.disable_progress_bar()
    rank = os.environ.get("RANK", "0")
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank {rank}: %(message)s", stream=sys.stderr)
    try:
        start(chosen)
    except BaseException as error:
        log.exception(
            "the service ends, with all of its ranks: %s: %s. %sJobs go on from their last state when it is "
            "started again (torchrun --max-restarts does that by itself)",
            type(error).__name__,
            error,
            advice(error, chosen),
        )
        # other threads and collectives may stand still
        os._exit(1)


def advice(error: BaseException, chosen: options.Options) -> str:
    if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
        return ""
    recompute = "" if chosen.gradient_checkpointing else "with --gradient-checkpointing, "
    return (
        "It is out of memory, and will be again at the same step: start it "
        f"with --micro-batch-tokens below {chosen.micro_batch_tokens}, {recompute}or on more GPUs. "
    )


def start(chosen: options.Options) -> None:
    own = ranks.join(chosen.device)
    log.info(
        "process %d on %s, rank %d of %d, %s",
        os.getpid(),
        socket.gethostname(),
        own.rank,
        own.size,
        own.device,
    )
    trainer = Trainer(chosen, own)
    if not own.first:
        trainer.follow()
        return
    chosen.checkpoints.mkdir(parents=True, exist_ok=True)
    files.remove_partial(chosen.checkpoints)
    service = Service(chosen, trainer, asyncio.new_event_loop())
    try:
        Server(service).start()
    except BaseException:
        own.broadcast((STOP, {}))
        raise
    log.info("listening on http://%s:%d", chosen.host, chosen.port)
    service.compute()


if __name__ == "__main__":
    main()
