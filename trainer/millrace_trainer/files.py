"""
States and weights on disk: CHECKPOINTS/MODEL/weights/NAME and CHECKPOINTS/MODEL/sampler_weights/NAME.

A folder exists whole or not at all: it is written under a name that ends in `.partial`, flushed, and
renamed. What a killed process left is removed at the start.
"""

import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

STATES = "weights"
SNAPSHOTS = "sampler_weights"
ABOUT = "millrace.json"
"""In a state: what its model is."""
PINNED = "loaded"
"""In a state: a job has loaded it, so it stays."""
PARTIAL = ".partial"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}")
ADDRESS = re.compile(rf"tinker://({NAME.pattern})/({STATES}|{SNAPSHOTS})/({NAME.pattern})")


def address(model: str, kind: str, name: str) -> str:
    return f"tinker://{model}/{kind}/{name}"


def folder_at(checkpoints: Path, uri: str) -> Path | None:
    """The folder of an address; None where it is no address."""
    found = ADDRESS.fullmatch(uri)
    return None if found is None else checkpoints / found[1] / found[2] / found[3]


@contextmanager
def atomic_folder(folder: Path, first: bool, barrier: Callable[[], None]) -> Iterator[Path]:
    """A folder that all ranks write to, and that gets its name when they have."""
    partial = folder.with_name(folder.name + PARTIAL)
    if first:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    barrier()
    yield partial
    barrier()
    if first:
        for path in partial.rglob("*"):
            flush(path)
        flush(partial)
        partial.rename(folder)
        flush(folder.parent)
    barrier()


def flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial(checkpoints: Path) -> None:
    """Removes what was not finished."""
    for partial in checkpoints.glob(f"*/*/*{PARTIAL}"):
        shutil.rmtree(partial, ignore_errors=True)


def pin(folder: Path) -> None:
    """A job goes on from this state, or scores with it: it stays."""
    (folder / PINNED).touch()


def remove_old(parent: Path, keep: int) -> None:
    """Of the checkpoints in a folder the newest `keep` stay, and those that are pinned; 0 = all."""
    if keep == 0:
        return
    whole = [path for path in parent.iterdir() if not path.name.endswith(PARTIAL)]
    for path in sorted(whole, key=written_at)[:-keep]:
        if not (path / PINNED).exists():
            # it is gone at once, whenever the process ends
            partial = path.rename(path.with_name(path.name + PARTIAL))
            shutil.rmtree(partial, ignore_errors=True)


def written_at(folder: Path) -> int:
    about = folder / ABOUT
    return (about if about.is_file() else folder).stat().st_mtime_ns


def about(folder: Path) -> dict[str, Any]:
    return json.loads((folder / ABOUT).read_text())


def listed(checkpoints: Path, model: str) -> list[dict[str, str]]:
    kinds = {STATES: "training", SNAPSHOTS: "sampler"}
    return [
        {
            "checkpoint_id": f"{kind}/{folder.name}",
            "checkpoint_type": kinds[kind],
            "tinker_path": address(model, kind, folder.name),
        }
        for kind in kinds
        for folder in sorted((checkpoints / model / kind).glob("*"))
        if not folder.name.endswith(PARTIAL)
    ]


def archive(folder: Path) -> tuple[IO[bytes], int]:
    """
    A tar.gz of its files, open at its beginning, and its size. It lies on the disk of the checkpoints, and
    goes away when it is closed. Weights hardly get smaller, so nothing is compressed.
    """
    file = tempfile.TemporaryFile(dir=folder.parent)
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=0) as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name)
    size = file.tell()
    file.seek(0)
    return file, size
