"""The file of a SQLite registry, watched while others have locks on it."""

import subprocess
import sys
from subprocess import PIPE

from schemas.registry import (
    RegistryStore,
)
from schemas.registry.database import create_engine
from tests.schemas.registry.filled_registry import furnished


def test_watching_the_file_keeps_the_locks_of_the_database(url: str, store: RegistryStore) -> None:
    """Closing any descriptor of a file gives up the locks that this process has on it."""
    furnished(store)
    other = RegistryStore(url)
    other.read_version()
    with create_engine(url).connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        other.read_version()
        other.close()
        done = subprocess.run(
            (sys.executable, "-c", LOCK, url.removeprefix("sqlite:///")), check=True, stdout=PIPE
        )
    assert done.stdout == b"locked\n"


LOCK = """
import fcntl, os, sys
try:  # the bytes on which SQLite's readers have a lock
    fcntl.lockf(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    print("free")
except BlockingIOError:
    print("locked")
"""
