"""
Starts the service: alone, or on every GPU by torchrun.

    python -m millrace_trainer --model FOLDER
    torchrun --nproc-per-node 8 -m millrace_trainer --model FOLDER --port 8500
"""

import logging
import os
import signal
import socket
import sys

from . import files, options, ranks
from .service import Service
from .trainer import Trainer

log = logging.getLogger("millrace_trainer")


def main() -> None:
    chosen = options.parse()
    # whatever is saved is saved whole, so the process may end at any time
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    rank = os.environ.get("RANK", "0")
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank {rank}: %(message)s", stream=sys.stderr)
    try:
        start(chosen)
    except BaseException as error:
        log.exception(
            "the service ends, with all of its ranks: %s: %s. Jobs go on from their last state when it is "
            "started again (torchrun --max-restarts does that by itself)",
            type(error).__name__,
            error,
        )
        # other threads and collectives may stand still
        os._exit(1)


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
    files.sweep(chosen.checkpoints)
    Service(chosen, trainer).serve()


if __name__ == "__main__":
    main()
