"""What may stand in a folder under the name of a file, and is none."""

import os
from collections.abc import Callable
from pathlib import Path


def put_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").touch()


def put_loop(path: Path) -> None:
    path.symlink_to(path.name)


def put_dangling_link(path: Path) -> None:
    path.symlink_to("/nonexistent")


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


NO_FILES: tuple[Callable[[Path], None], ...] = (
    put_folder,
    put_loop,
    put_dangling_link,
    put_device,
    os.mkfifo,
)
