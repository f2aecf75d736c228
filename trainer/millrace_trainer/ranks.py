"""
The processes that train together: which of them this one is, and how the first one's commands reach the
others.
"""

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

A_YEAR = timedelta(days=365)
LONGEST_STEP = timedelta(hours=2)


@dataclass(frozen=True)
class Ranks:
    rank: int
    size: int
    local_rank: int
    """Among those of this machine."""
    local_size: int
    device: torch.device
    mesh: DeviceMesh
    control: dist.ProcessGroup
    """For commands, always gloo: it may wait for a year for the next one."""

    @property
    def first(self) -> bool:
        return self.rank == 0

    def broadcast(self, message: Any) -> None:
        """From the first rank to all others, which `receive` it."""
        dist.broadcast_object_list([message], src=0, group=self.control)

    def receive(self) -> Any:
        box: list[Any] = [None]
        dist.broadcast_object_list(box, src=0, group=self.control)
        return box[0]

    def gather(self, part: Any) -> list[Any] | None:
        """The parts of all ranks, on the first one."""
        parts: list[Any] | None = [None] * self.size if self.first else None
        dist.gather_object(part, parts, dst=0, group=self.control)
        return parts

    def barrier(self) -> None:
        dist.barrier(group=self.control)


def join(device: str) -> Ranks:
    """Joins the ranks that torchrun started; without torchrun this process is the only one."""
    kind = device if device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    local = int(os.environ.get("LOCAL_RANK", "0"))
    place = torch.device(kind, local) if kind == "cuda" else torch.device("cpu")
    if kind == "cuda":
        torch.cuda.set_device(place)
    backend = "nccl" if kind == "cuda" else "gloo"
    store, rank, size = rendezvous()
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=LONGEST_STEP)
    return Ranks(
        rank=rank,
        size=size,
        local_rank=local,
        local_size=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        device=place,
        mesh=init_device_mesh(kind, (size,)),
        control=dist.new_group(backend="gloo", timeout=A_YEAR),
    )


def rendezvous() -> tuple[dist.Store, int, int]:
    """Where ranks find each other, this one's number, and how many there are."""
    if "RANK" not in os.environ:
        return dist.HashStore(), 0, 1
    store, rank, size = next(dist.rendezvous("env://"))
    # torchrun keeps one store over its restarts, with the addresses of those that are gone
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"attempt-{attempt}", store), rank, size
