"""A visitor is erased from a running installation: from answers, tables, files and the registry."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest

from deploy.cli import main
from query.standard.query_types import QUERY_TYPES
from schemas.registry import Erasure, ErasureState, RegistryStore
from stream.recovery.ledger_balance import check_balance
from tests.chaos.recorded_load import query_lake
from tests.flow.tenant import Tenant, at_ms
from tests.flow.test_imports import tidemark
from tests.http_client import call
from tests.installation import Installation, eventually

HER = "visitor-to-forget"
HER_PROFILE = "profile-to-forget"
KAFKA_FOLDER = "kafka"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Replaced data files are deleted after a minute."""
    folder = tmp_path_factory.mktemp("erasure")
    installation = Installation(folder, tombstone_minutes=1, compact_seconds=1.0)
    installation.start()
    yield installation
    installation.stop()


def visit(visitor: str, session: str, clock: str) -> list[dict[str, Any]]:
    """Two page views and an order."""
    started = at_ms(clock)
    ids = {"anonymousId": visitor, "sessionId": session}
    page = "https://shop.example"
    return [
        {"name": "screen_view", "path": f"{page}/", "timestamp": started, **ids},
        {"name": "screen_view", "path": f"{page}/a", "timestamp": started + 30_000, **ids},
        {"name": "order", "timestamp": started + 60_000, "properties": {"total": 5}, **ids},
    ]


def send(tenant: Tenant, visitor: str, session: str, profile: str, clock: str) -> None:
    ids = {"anonymousId": visitor, "sessionId": session, "timestamp": at_ms(clock)}
    page = {"path": "https://shop.example/"}
    sent = [
        tenant.send(visit(visitor, session, clock)),
        tenant.send([{"metricName": "LCP", "metricValue": 1200, **page, **ids}], "/vitals"),
        tenant.send([{"message": f"boom {visitor}", **page, **ids}], "/errors"),
        tenant.send([{"name": 7, "anonymousId": visitor}]),
    ]
    website = tenant.website.id
    identity = {"profileId": profile, "anonymousId": visitor, "traits": {"name": visitor}}
    url = f"{tenant.stack.collect_url}/identify?client_id={website}"
    sent.append(call("POST", url, [identity], {"x-api-key": tenant.key}))
    assert [reply.status for reply in sent] == [200, 200, 200, 400, 200], [r.body for r in sent]


def stored(tenant: Tenant) -> dict[str, int]:
    tables = ("events", "vitals", "errors", "identities")
    counts = {}
    for table in tables:
        url = f"{tenant.stack.query_url}/v1/export/{table}?website_id={tenant.website.id}"
        reply = call("GET", f"{url}&preset=last_30d", None, {"x-api-key": tenant.key})
        counts[table] = len(reply.body.splitlines())
    return counts


def answers(tenant: Tenant) -> dict[str, Any]:
    """The data of every query type about the website, by name."""
    names = [name for name, each in QUERY_TYPES.items() if each.subject.value == "website_id"]
    data: dict[str, Any] = {}
    for start in range(0, len(names), 10):
        reply = tenant.ask(*names[start : start + 10])
        data |= {entry["parameter"]: entry.get("data") for entry in reply.json["data"]}
    return data


def as_text(data: object) -> str:
    """As JSON, without keys of rows, which say where in Kafka they were, and the last minutes."""
    text = re.sub(r'"\d+-\d+-\d+"', '"key"', json.dumps(data))
    return re.sub(r'"minute": "[^"]*"', '"minute"', text)


def files_with(folder: Path, *texts: str) -> list[str]:
    """Files outside of Kafka that have one of these texts, decompressed where they are data."""
    found = []
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if not path.is_file() or name.startswith(KAFKA_FOLDER):
            continue
        data = path.read_bytes()
        if data[:4] == b"PAR1" and "_delta_log" not in name:
            data += str(pq.read_table(path, partitioning=None).to_pylist()).encode()
        if any(text.encode() in data for text in texts):
            found.append(name)
    return found


def test_an_erased_visitor_is_nowhere_and_does_not_come_back(installation: Installation) -> None:
    erased, other = Tenant.create(installation), Tenant.create(installation)
    for tenant in (erased, other):
        send(tenant, "stays", "s1", "p1", "09:00:00")
    send(erased, HER, "her-session", HER_PROFILE, "10:00:00")
    everything = {"events": 6, "vitals": 2, "errors": 2, "identities": 2}
    eventually(lambda: stored(erased) == everything, seconds=60)
    half = {table: count // 2 for table, count in everything.items()}
    eventually(lambda: stored(other) == half, seconds=60)
    person = installation.data.parent / "person.zip"
    export = ("person", "export", "--website", erased.website.id, "--profile", HER_PROFILE)
    with pytest.MonkeyPatch.context() as within:
        within.setenv("TIDEMARK_API_KEY", erased.key)

        main([*export, "--url", installation.query_url, "--output", str(person)])
    with ZipFile(person) as archive:
        about = json.loads(archive.read("about.json"))
    answers(erased)  # caches and prepared results have her

    counted = tidemark(
        installation, "erase", "--website", erased.website.id, "--profile", HER_PROFILE, "--dry-run"
    )
    done = tidemark(
        installation, "erase", "--website", erased.website.id, "--profile", HER_PROFILE, "--yes"
    )

    assert (counted["state"], counted["rows"], counted["visitors"]) == ("counted", half, 1)
    assert (done["state"], done["rows"], done["visitors"]) == ("rewritten", half, 1)
    assert about["rows"] == {**half, "engagement": 0}
    assert stored(erased) == half
    assert as_text(answers(erased)) == as_text(answers(other))
    assert list(check_balance(installation.settings)) == []

    send(erased, HER, "her-session", HER_PROFILE, "11:00:00")
    send(erased, "later", "s9", "p9", "12:00:00")
    eventually(lambda: stored(erased)["events"] == 6, seconds=60)
    eventually(lambda: dropped(installation, erased) >= 6 + 6, seconds=60)
    assert "her-session" not in json.dumps(answers(erased))
    assert list(check_balance(installation.settings)) == []

    store = RegistryStore(installation.settings.registry_url)
    eventually(lambda: store.get(Erasure, done["id"]).state is ErasureState.DONE, seconds=180)
    store.close()
    eventually(lambda: not files_with(installation.data, HER, HER_PROFILE), seconds=30)


def dropped(installation: Installation, tenant: Tenant) -> int:
    """Items of a website that the ledger counts as erased."""
    sql = f"""
        SELECT sum(dropped) FROM ledger
         WHERE subject_id = '{tenant.website.id}' AND drop_reason = 'erased'
    """
    [(count,)] = query_lake(installation.settings.lake_url, "ledger", sql)
    return int(count or 0)
