"""Faults of an object store and of its writers: each acknowledged item is stored exactly once."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.faults import hit, settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender
from tests.flow.tenant import Tenant
from tests.installation import Installation, eventually
from tests.s3.server import S3Server

DRAIN_SECONDS = 240
"""Workers that gave up start again, open eight tables by requests, and form a group."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of temporary files of all processes."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, server: S3Server, scratch: Path
) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("chaos-s3")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in {**server.environment, "TMPDIR": str(scratch)}.items():
            patched.setenv(name, value)
        with stack_with_short_sessions(folder, lake=server.url) as stack:
            yield stack


@pytest.fixture
def tenant(stack: Installation) -> Tenant:
    return Tenant.create(stack)


def test_killed_writers_lose_and_double_nothing(stack: Installation, tenant: Tenant) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        for name in ("worker-1", "keeper", "worker-1"):
            load.wait_for(300)
            hit(stack, name, signal.SIGKILL)
        load.wait_for(300)

    settle(tenant, load, DRAIN_SECONDS)


def send_during(
    load: LoadSender, begin: Callable[[], object], end: Callable[[], object], seconds: float
) -> None:
    """Send before, during and after a fault."""
    load.wait_for(300)
    begin()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        load.wait_for(30)
    end()
    load.wait_for(300)


def test_a_store_that_answers_nothing_for_a_while(
    stack: Installation, tenant: Tenant, server: S3Server
) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        send_during(load, server.freeze, server.thaw, seconds=20)

    settle(tenant, load, DRAIN_SECONDS)


def test_a_store_that_is_gone_for_a_while(
    stack: Installation, tenant: Tenant, server: S3Server
) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        send_during(load, server.kill, server.start, seconds=15)

    settle(tenant, load, DRAIN_SECONDS)


def test_temporary_files_do_not_pile_up(scratch: Path) -> None:
    """Compaction has run by now, and processes were killed in the middle of it."""
    eventually(lambda: not list(scratch.rglob("*.parquet")))
    left = [path for path in scratch.glob("tidemark-*/*") if path.is_dir()]
    assert len(left) <= 12, left
