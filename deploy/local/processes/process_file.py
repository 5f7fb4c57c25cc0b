"""What runs, written to `<data>/processes.json` by the supervisor and read by whoever asks."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from deploy.local.processes.process import State
from deploy.local.processes.supervised_process import Child
from schemas.runtime.clock import now_ms
from schemas.runtime.files import replace_file


class Entry(Struct, frozen=True, rename="camel"):
    """One process as it is now."""

    name: str
    state: State
    pid: int | None
    restarts: int
    where: str
    log: str
    reason: str = ""
    """Why it ended last, or is not well; empty when it has run steadily."""


class Account(Struct, frozen=True):
    """The supervisor and its processes."""

    supervisor: int
    ready: bool
    processes: tuple[Entry, ...]
    at_ms: int = 0
    """When it was written; 0 by an older version."""


def account_of(children: Sequence[Child]) -> Account:
    """The account at this moment."""
    return Account(
        supervisor=os.getpid(),
        ready=all(child.state == State.READY for child in children),
        processes=tuple(
            Entry(c.spec.name, c.state, c.pid, c.restarts, c.spec.where, str(c.log), c.reason)
            for c in children
        ),
        at_ms=now_ms(),
    )


def write_account(folder: Path, account: Account) -> None:
    """Replace the account; readers see the old or the new one."""
    text = msgspec.json.format(msgspec.json.encode(account), indent=2)
    replace_file(folder / "processes.json", text)


def read_account(folder: Path) -> Account | None:
    """The account of the supervisor that runs on this folder; None when there is none."""
    try:
        account = msgspec.json.decode((folder / "processes.json").read_bytes(), type=Account)
        os.kill(account.supervisor, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return account
