"""Folders that Triton reads: its backends and its model repository, made of links."""

import shutil
from pathlib import Path

from graphwright.local.errors import PocketMissing
from graphwright.local.wheels import TritonWheel


def link_backend(folder: Path, wheel: TritonWheel) -> Path:
    """A backend directory whose Python backend has the stub of this Python version."""
    python = folder / "python"
    _emptied(python)
    for part in (*wheel.backend.iterdir(), wheel.stub):
        if part.name != "__pycache__":
            (python / part.name).symlink_to(part)
    return folder


def pocket_repository(folder: Path, pocket: Path) -> Path:
    """A model repository with every pocket model.

    Raises:
        PocketMissing: `pocket` holds no models.
    """
    models = sorted((pocket / "repository").glob("*/config.pbtxt"))
    if not models:
        raise PocketMissing(pocket)
    _emptied(folder)
    for config in models:
        (folder / config.parent.name).symlink_to(config.parent)
    return folder


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
