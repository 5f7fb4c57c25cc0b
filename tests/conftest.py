"""Fixtures that every test may use, and the order of test groups."""

import gc
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.parts import stack_settings
from tests.groups import MORE_EXAMPLES, group_of, is_listed, is_long
from tests.installation import Installation
from tests.oracle import hypothesis_profile
from tests.registries import make_registry

__all__ = ["hypothesis_profile"]  # its profiles are registered before one is chosen

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Scheduling":
    """Workers are given whole groups."""
    from tests.scheduling import GroupScheduling  # one process does without xdist

    return GroupScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-long` runs; before `-m` chooses among the items."""
    for item in items:
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)
        if item.nodeid.startswith(MORE_EXAMPLES) and item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.examples)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object | None:
    """What a listed group started ends with it: an idle stack costs a tenth of a core."""
    group = group_of(item.nodeid)
    if nextitem is None or group_of(nextitem.nodeid) == group or not is_listed(group):
        return None
    outcome: object = item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
    return outcome


def pytest_collection_finish() -> None:
    """Exempt the modules and items of all tests from garbage collections: a tenth of the CPU."""
    gc.collect()
    gc.freeze()


METRICS_PORTS = 10_000
"""Below the ports that `free_port` gives: each process has one, and they are counted up."""
PROCESSES = 8


def free_metrics_port() -> int:
    """The first of as many free ports as there are processes; other runs begin elsewhere."""
    first = os.getpid() * 61 % 500  # far from that of another worker, whose pid is the next one
    for number in range(first, first + 500):
        port = METRICS_PORTS + number % 500 * PROCESSES
        with suppress(OSError), ExitStack() as probes:
            for each in range(port, port + PROCESSES):
                probes.enter_context(socket.create_server(("127.0.0.1", each)))
            return port
    raise RuntimeError(f"no {PROCESSES} free ports from {METRICS_PORTS} on")


# The processes of a run import the same modules: they are compiled once, also where the environment
# says otherwise, as many container images do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Brokers live for seconds here: only the quick compiler of the JVM, half of the CPU of a start.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def new_registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry that was just made; to be copied."""
    path = tmp_path_factory.mktemp("made") / "registry.db"
    make_registry(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One running Tidemark for all tests that leave it running."""
    folder = tmp_path_factory.mktemp("stack")
    own = {"batch_seconds": 0.3, "compact_seconds": 2.0, "metrics_port": free_metrics_port()}
    with stack_settings(folder) as settings, Installation(folder, **{**settings, **own}) as stack:
        yield stack
