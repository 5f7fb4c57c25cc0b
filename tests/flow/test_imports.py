"""An import from file to query result: interrupted, resumed, exported, repeated and deleted."""

import contextlib
import io
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deploy.cli import main
from schemas.registry import Import, RegistryStore
from tests.flow.tenant import CHROME_USER_AGENT, Tenant
from tests.http_client import Reply, call
from tests.installation import ROOT, Installation, eventually

LINES = 12_000
MARCH_2019 = 1_551_398_400_000
"""2019-03-01 00:00:00 UTC."""
YEAR = {"startDate": "2019-01-01", "endDate": "2019-12-31", "granularity": "monthly"}


def a_file(folder: Path, lines: int = LINES) -> Path:
    """Page views of 2019, twelve minutes apart, each visitor has ten; every thousandth is bad."""
    path = folder / "visits.ndjson"
    path.write_text("".join(json.dumps(a_line(number)) + "\n" for number in range(1, lines + 1)))
    return path


def a_line(number: int) -> dict[str, Any]:
    return {
        "name": "screen_view",
        "ts": None if number % 1000 == 0 else MARCH_2019 + number * 720_000,
        "path": f"https://shop.example/{number % 7}",
        "anonymous_id": f"a{number // 10}",
        "session_id": f"s{number // 10}",
        "user_agent": CHROME_USER_AGENT,
        "country": "Austria",
    }


def views(tenant: Tenant) -> list[tuple[str, int, int]]:
    """Page views and visitors by month."""
    rows = tenant.rows("events_by_date", **YEAR)
    return [(row["date"], row["pageviews"], row["visitors"]) for row in rows if row["pageviews"]]


def importing(tenant: Tenant, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-m", "deploy.cli", "import", str(path), "--website", tenant.website.id),
        cwd=ROOT,
        env=tenant.stack.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def imports(tenant: Tenant) -> Sequence[Import]:
    store = RegistryStore(tenant.stack.settings.registry_url)
    try:
        return store.list(Import, website_id=tenant.website.id)
    finally:
        store.close()


def tidemark(stack: Installation, *arguments: str) -> dict[str, Any]:
    """The command in this process, which saves starting one."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as within, contextlib.redirect_stdout(output):
        for name, value in stack.environment.items():
            within.setenv(name, value)
        main([*arguments, "--json"])
    result: dict[str, Any] = json.loads(output.getvalue())
    return result


@pytest.fixture(scope="module")
def tenant_with_history(
    stack: Installation, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tenant, dict[str, Any], Path]:
    """A tenant whose import was killed in the middle and run again."""
    tenant, path = Tenant.create(stack), a_file(tmp_path_factory.mktemp("history"))
    first = importing(tenant, path)
    eventually(lambda: any(one.lines > 0 for one in imports(tenant)), pause=0)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = tidemark(stack, "import", str(path), "--website", tenant.website.id)
    return tenant, done, path


def test_an_import_that_was_killed_goes_on_to_exact_counts(
    tenant_with_history: tuple[Tenant, dict[str, Any], Path],
) -> None:
    tenant, done, path = tenant_with_history
    (one,) = imports(tenant)

    columns = done["columns"]
    assert (columns["ts"], columns["anonymous_id"]) == ("timestamp", "anonymousId")
    assert done == {
        "id": one.id,
        "stored": LINES - 12,
        "accepted": LINES - 12,
        "rejected": 12,
        "rejects": f"{path}.rejects.ndjson",
        "columns": columns,
    }
    assert (one.state, one.accepted, one.rejected) == ("done", LINES - 12, 12)
    rejects = [json.loads(line) for line in Path(done["rejects"]).read_text().splitlines()]
    assert {each["line"] for each in rejects} == set(range(1000, LINES + 1, 1000))
    assert {each["reason"] for each in rejects} == {"'timestamp' is required"}


def test_history_is_asked_like_anything_else(
    tenant_with_history: tuple[Tenant, dict[str, Any], Path],
) -> None:
    tenant, _, _ = tenant_with_history

    # 120 page views a day from March 1st on; every thousandth is missing.
    assert views(tenant) == [
        ("2019-03-01", 3716, 372),
        ("2019-04-01", 3596, 360),
        ("2019-05-01", 3716, 372),
        ("2019-06-01", 960, 96),
    ]
    assert tenant.grouped_counts("events", "country", "browser_name", **YEAR_CUSTOM) == [
        ("AT", "Chrome", LINES - 12)
    ]


YEAR_CUSTOM = {"startDate": "2019-01-01", "endDate": "2019-12-31"}


def test_the_same_file_is_not_imported_twice_by_accident(
    tenant_with_history: tuple[Tenant, dict[str, Any], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tenant, done, path = tenant_with_history

    with pytest.raises(SystemExit):
        tidemark(tenant.stack, "import", str(path), "--website", tenant.website.id)

    assert f"was imported as {done['id']}" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["csv", "ndjson"])
def test_what_was_exported_can_be_imported_and_answers_the_same(
    tenant_with_history: tuple[Tenant, dict[str, Any], Path], tmp_path: Path, format_: str
) -> None:
    tenant, _, _ = tenant_with_history
    other = Tenant.create(tenant.stack)
    target = "startDate=2019-03-01&endDate=2019-03-02"
    exported = call(
        "GET",
        f"{tenant.stack.query_url}/v1/export/events?website_id={tenant.website.id}"
        f"&{target}&format={format_}",
        headers={"x-api-key": tenant.key},
    )
    path = tmp_path / f"export.{format_}"
    path.write_bytes(exported.body)

    done = tidemark(tenant.stack, "import", str(path), "--website", other.website.id)

    assert (done["accepted"], done["stored"], done["rejected"]) == (239, 239, 0)
    span = {"startDate": "2019-03-01", "endDate": "2019-03-02"}
    for parameter in ("summary_metrics", "top_pages", "browser_name", "country", "events_by_date"):
        assert other.rows(parameter, **span) == tenant.rows(parameter, **span)


def test_an_import_that_is_undone_leaves_what_was_before(
    tenant_with_history: tuple[Tenant, dict[str, Any], Path], tmp_path: Path
) -> None:
    tenant, first, _ = tenant_with_history
    stack, before = tenant.stack, views(tenant)
    path = a_file(tmp_path, 600)
    second = tidemark(stack, "import", str(path), "--website", tenant.website.id)
    assert sum(count for _, count, _ in views(tenant)) == LINES - 12 + 600

    undone = tidemark(stack, "import", "undo", second["id"])

    assert (undone["state"], undone["removed"]) == ("undone", 600)
    assert views(tenant) == before
    assert tidemark(stack, "import", "show", first["id"])["stored"] == LINES - 12
    assert tidemark(stack, "import", "show", second["id"])["stored"] == 0


def test_an_import_goes_over_http_alone(stack: Installation) -> None:
    tenant = Tenant.create(stack)
    key = {"x-api-key": tenant.key}
    imports = f"{stack.query_url}/v1/imports"
    record = call("POST", imports, {"websiteId": tenant.website.id, "name": "a"}, key).json["data"]
    items = [{**a_line(n), "country": "AT", "timestamp": MARCH_2019, "line": n} for n in (1, 2, 3)]

    def sent() -> Reply:
        return call("POST", f"{stack.collect_url}/import?import_id={record['id']}", items, key)

    eventually(lambda: sent().status == 200)
    assert sent().json["count"] == 3  # a retry
    one = f"{imports}/{record['id']}"
    eventually(lambda: call("GET", one, headers=key).json["data"]["stored"] == 3)

    assert call("DELETE", one, headers=key).json["data"]["state"] == "undoing"
    undone = eventually(
        lambda: (d := call("GET", one, headers=key).json["data"])["state"] == "undone" and d
    )
    assert (undone["removed"], undone["stored"]) == (3, 0)
    assert eventually(lambda: sent().status == 409)
