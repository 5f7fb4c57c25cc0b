"""While Kafka is away: what the spool accepted is stored once, whoever is killed meanwhile."""

import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.runtime.files import matching_files
from schemas.spool_deliveries import DELIVERED_FOLDER, SPOOL_FOLDER
from tests.chaos.faults import hit, settle, stack_with_short_sessions
from tests.chaos.recorded_load import LoadSender, duplicate_positions, query_lake
from tests.cluster.parts import runs_on_cluster
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import Installation, eventually

pytestmark = pytest.mark.skipif(runs_on_cluster(), reason="freezes the broker of the installation")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("spool")
    with stack_with_short_sessions(folder, spool_mb=64, hung_seconds=0, collectors=2) as stack:
        yield stack


@pytest.fixture
def tenant(stack: Installation) -> Tenant:
    return Tenant.create(stack)


@contextmanager
def frozen_kafka(stack: Installation) -> Iterator[None]:
    pid = hit(stack, "broker", signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def spool_files(stack: Installation) -> list[Path]:
    return matching_files(stack.data / SPOOL_FOLDER, "*.*/*.spool")


def accepted(tenant: Tenant) -> tuple[str, str]:
    """Send events without ids, each of another name, until one is accepted: its name, its receipt.

    Whether those before it arrive is unknown: Kafka did not acknowledge them.
    """
    while True:
        name = secrets.token_hex(4)
        reply = tenant.send([{"name": name}])
        if reply.status == 200:
            return name, reply.json["receipt"]
        assert reply.json["code"] == "OUTCOME_UNKNOWN", reply.body


def outcome(tenant: Tenant, receipt: str) -> str:
    url = f"{tenant.stack.query_url}/v1/receipts/{receipt}"
    [item] = call("GET", url, headers={"x-api-key": tenant.key}).json["data"]["items"]
    return str(item["state"])


def stored_names(tenant: Tenant) -> list[Any]:
    sql = f"SELECT name FROM events WHERE website_id = '{tenant.website.id}' ORDER BY name"
    return [row[0] for row in query_lake(tenant.stack.settings.lake_url, "events", sql)]


def test_collectors_are_killed_while_they_spool_and_while_they_deliver(
    stack: Installation, tenant: Tenant
) -> None:
    with LoadSender(stack.collect_url, tenant.website.id) as load:
        load.wait_for(300)
        with frozen_kafka(stack):
            load.wait_for(300)
            for name in ("collector-1", "collector-2", "collector-1"):
                hit(stack, name, signal.SIGKILL)
                load.wait_for(150)
        for name in ("collector-2", "collector-1"):
            hit(stack, name, signal.SIGKILL)
            load.wait_for(150)

    settle(tenant, load)
    eventually(lambda: not spool_files(stack), seconds=60)


def test_a_receipt_of_a_spooled_request_tells_when_it_is_stored(
    stack: Installation, tenant: Tenant
) -> None:
    with frozen_kafka(stack):
        _, receipt = accepted(tenant)
        assert outcome(tenant, receipt) == "spooled"

    eventually(lambda: outcome(tenant, receipt) == "stored", seconds=60)


def test_clicks_survive_the_collectors_that_spooled_them(
    stack: Installation, tenant: Tenant
) -> None:
    link, lake = tenant.link, stack.settings.lake_url

    def spooled_clicks() -> int:
        return sum(file.read_bytes().count(b"\xa6clicks") for file in spool_files(stack))

    def follow() -> bool:
        statuses.append(call("GET", f"{stack.collect_url}/l/{link.slug}").status)
        return spooled_clicks() >= 10

    statuses: list[int] = []  # the first clicks of an outage are sent, and nobody knows whether
    with frozen_kafka(stack):
        eventually(follow)
        spooled = spooled_clicks()
        for name in ("collector-1", "collector-2"):
            hit(stack, name, signal.SIGKILL)

    sql = f"SELECT count(*) FROM clicks WHERE link_id = '{link.id}'"
    eventually(lambda: int(query_lake(lake, "clicks", sql)[0][0]) >= spooled, seconds=60)
    assert query_lake(lake, "clicks", sql) <= [(len(statuses),)]
    assert {*statuses} == {302}


def test_a_delivery_that_a_kill_left_unnoted_is_repeated_and_stored_once(
    stack: Installation, tenant: Tenant, tmp_path: Path
) -> None:
    with frozen_kafka(stack):
        receipts = dict(accepted(tenant) for _ in range(5))
        folders = {file.parent for file in spool_files(stack)}
        for folder in folders:
            shutil.copytree(folder, tmp_path / folder.name)
    eventually(lambda: not spool_files(stack), seconds=60)
    for receipt in receipts.values():
        eventually(lambda: outcome(tenant, receipt) == "stored", seconds=60)  # noqa: B023

    # As after a kill between acknowledgement and note: files stand, and nothing is noted.
    shutil.rmtree(stack.data / SPOOL_FOLDER / DELIVERED_FOLDER)
    for folder in folders:
        (tmp_path / folder.name).rename(folder)
    eventually(lambda: not spool_files(stack), seconds=60)
    lake = stack.settings.lake_url
    eventually(lambda: len(duplicate_positions(lake, tenant.website.id)) == 5, seconds=60)

    names = stored_names(tenant)
    assert [names.count(name) for name in receipts] == [1] * 5
