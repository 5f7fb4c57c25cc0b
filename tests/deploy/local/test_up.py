"""`tidemark up` as people meet it: real processes, real broker, and what it says when it cannot."""

import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec import structs

from deploy.demo.demo_file import Demo, read_demo, write_demo
from deploy.local.doctor import CHECKS, CheckContext
from deploy.local.doctor.check import STORE
from deploy.local.doctor.kafka import POSITIONS_CHECK, TOPICS_CHECK
from deploy.local.kafka.broker import Broker
from deploy.local.kafka.topics import partition_counts
from deploy.local.status_screen import StatusScreen
from deploy.local.up import log_repair
from schemas.runtime.settings import Settings
from tests.http_client import call
from tests.installation import ROOT, Installation, eventually, free_port

NAMES = ["broker", "collector-1", "collector-2", "worker-1", "backfill", "keeper", "query-1"]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("up"), collectors=2) as running:
        yield running


def refusal(stack: Installation) -> tuple[int, str]:
    """Exit code and last line of a start that fails; nothing may be left of it."""
    process = stack.begin()
    started = psutil.Process(process.pid)
    eventually(lambda: process.poll() is not None, 60)
    assert not started.is_running()
    assert left_on(stack.data) == []
    return process.returncode, stack.output.read_text().splitlines()[-1]


def left_on(folder: Path) -> list[int]:
    """Processes that work on a data folder."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
        except psutil.Error:
            continue  # gone, or not ours to look at
        if environment.get("TIDEMARK_DATA_DIR") == str(folder) and process.pid != os.getpid():
            found.append(process.pid)
    return found


def test_everything_that_was_asked_for_is_ready(stack: Installation) -> None:
    assert [(entry.name, entry.state) for entry in stack.processes_status.processes] == [
        (name, "ready") for name in NAMES
    ]
    assert call("GET", f"{stack.collect_url}/health/ready").status == 200
    assert call("GET", f"{stack.query_url}/health/ready").status == 200


def test_a_first_start_says_how_to_reach_the_demo(stack: Installation) -> None:
    path = stack.data / "demo.json"
    demo = msgspec.json.decode(path.read_bytes())

    assert list(demo) == [
        "collectUrl", "queryUrl", "organizationId", "websiteId", "apiKey", "linkId",
    ]  # fmt: skip
    assert (demo["collectUrl"], demo["queryUrl"]) == (stack.collect_url, stack.query_url)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stack.tidemark("organizations", "show", demo["organizationId"])["plan"] == "enterprise"


def test_no_other_user_can_read_what_it_makes(stack: Installation) -> None:
    created = [path for path in stack.data.rglob("*") if path != stack.output]
    open_to_others = [path for path in created if path.lstat().st_mode & 0o077]

    assert stat.S_IMODE(stack.data.stat().st_mode) == 0o700  # the test had made it 0755
    assert {"registry.db", "meta.properties", "keeper.json"} <= {path.name for path in created}
    assert open_to_others == []


def test_the_doctor_finds_topics_that_are_not_there(stack: Installation) -> None:
    other = CheckContext(msgspec.structs.replace(stack.settings, topic_prefix="staging."))
    more = CheckContext(msgspec.structs.replace(stack.settings, partitions=9))

    assert next((f.subject, f.problem) for f in TOPICS_CHECK.run(other)) == (
        "topic staging.events",
        "does not exist in Kafka",
    )
    assert next((f.subject, f.problem) for f in TOPICS_CHECK.run(more)) == (
        "topic events",
        "has 8 partitions, not 9",
    )
    assert list(POSITIONS_CHECK.run(other)) == []  # nothing was ever read of them


def test_the_demo_key_opens_the_demo_website(stack: Installation) -> None:
    def status() -> int:
        return call(
            "POST",
            f"{stack.query_url}/v1/query?website_id={stack.demo.website_id}",
            {"parameters": ["summary"], "startDate": "2026-11-01", "endDate": "2026-11-02"},
            {"x-api-key": stack.demo.api_key},
        ).status

    assert eventually(lambda: status() == 200, 5)  # services hear of a new key within a second


def test_a_second_start_on_the_same_folder_is_refused(stack: Installation) -> None:
    second = Installation(stack.data.parent / "second", collectors=1)
    link = second.data
    link.symlink_to(stack.data)  # by another name, on other ports

    process = second.begin()
    code = process.wait(30)

    assert code == 1
    assert (
        f"already runs on {link} (process {stack.processes_status.supervisor})"
        in (stack.output.read_text().splitlines()[-1])
    )


def test_topics_have_their_partitions(stack: Installation) -> None:
    topics = stack.tidemark("topics")

    assert [(topic["name"], topic["in_kafka"]) for topic in topics] == [
        (name, 8)
        for name in (
            *("events", "vitals", "errors", "clicks", "engagement", "identities"),
            "backfill",
        )
    ]


def test_a_killed_collector_comes_back(stack: Installation) -> None:
    killed = stack.signal("collector-2", signal.SIGKILL)

    eventually(lambda: stack.pids().get("collector-2", killed) != killed)
    eventually(lambda: stack.processes_status.ready)
    assert [e.restarts for e in stack.processes_status.processes if e.name == "collector-2"] == [1]


def test_demo_visitors_are_stored_item_by_item(stack: Installation) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "demo", "--visitors", "30", "--seed", "7"),
        cwd=ROOT,
        env=stack.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *_, told = re.findall(r"(\d+) items, (\d+) link clicks", done.stdout)
    items, clicks = map(int, told)

    def stored() -> bool:
        rows = {table["name"]: table["rows"] for table in stack.tidemark("status")["tables"]}
        return (rows["events"] + rows["vitals"] + rows["errors"], rows["clicks"]) == (items, clicks)

    assert items > 200
    eventually(stored)


def test_the_doctor_finds_nothing_wrong_with_what_runs(stack: Installation) -> None:
    found = {one["check"]: one["state"] for one in stack.tidemark("doctor")}

    assert found == {**dict.fromkeys((check.name for check in CHECKS), "ok"), STORE: "skipped"}


def test_a_registry_deleted_while_everything_runs_loses_no_event_and_comes_back(
    stack: Installation,
) -> None:
    """Collectors go on, one that is killed too; links are refused; a restore is noticed."""
    track = f"{stack.collect_url}/track?website_id={stack.demo.website_id}"
    links, key = f"{stack.query_url}/v1/links", {"x-api-key": stack.demo.api_key}
    link = {"name": "Launch", "targetUrl": "https://shop.example/"}

    def status() -> list[str]:
        return [call("GET", f"{url}/health").json["status"] for url in urls]

    urls = (stack.collect_url, stack.query_url)
    eventually(lambda: any((stack.data / "lake" / "_registry").glob("r*.json")))
    (stack.data / "registry.db").unlink()
    eventually(lambda: status() == ["degraded", "degraded"])
    killed = stack.signal("query-1", signal.SIGKILL)
    assert call("POST", track, [{"name": "meanwhile"}]).status == 200
    eventually(
        lambda: stack.pids().get("query-1", killed) != killed and stack.processes_status.ready
    )
    assert call("POST", links, link, key).status == 503
    assert not (stack.data / "registry.db").exists()

    restored = stack.tidemark("registry", "restore")
    eventually(lambda: status() == ["ok", "ok"])

    assert restored["organizations"] == 1
    assert call("POST", links, link, key).status == 201


def test_data_and_demo_are_still_there_after_a_restart(tmp_path: Path) -> None:
    stack = Installation(tmp_path, batch_seconds=0.2)
    with stack:
        before = stack.demo
        track = f"{stack.collect_url}/track?website_id={before.website_id}"
        assert eventually(lambda: call("POST", track, [{"name": "kept"}]).status == 200)
        eventually(lambda: rows(stack) == 1)
        pids = [*stack.pids().values(), stack.processes_status.supervisor]
        assert stack.stop() == 0

    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    assert stack.output.read_text().splitlines()[-1] == "stopped"
    elsewhere = "http://127.0.0.1:1"  # as after a start with other ports
    write_demo(tmp_path, structs.replace(before, collect_url=elsewhere, query_url=elsewhere))
    with stack:
        assert read_demo(tmp_path) == before
        assert rows(stack) == 1


def rows(stack: Installation) -> int:
    found: dict[str, int] = {t["name"]: t["rows"] for t in stack.tidemark("status")["tables"]}
    return found["events"]


def test_what_a_power_cut_tore_is_put_aside_before_anything_starts(tmp_path: Path) -> None:
    log = tmp_path / "lake" / "vitals" / "_delta_log"
    log.mkdir(parents=True)
    torn = log / f"{0:020}.json"
    torn.write_text('{"commitInfo": {}}\n{"add": {"pa')
    settings, out = Settings(data_dir=str(tmp_path)), io.StringIO()

    with log_repair(settings, StatusScreen(out)):
        out.write("prepared\n")

    lines = out.getvalue().splitlines()
    assert (torn.exists(), (log / f"_torn-{torn.name}").exists()) == (False, True)
    assert lines[0] == "prepared"
    assert "torn log entry moved aside" in lines[1]


def test_a_port_in_use_ends_it_with_one_message(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        assert refusal(Installation(tmp_path, query_port=port)) == (
            1,
            f"tidemark: port {port} for the query service is in use by another program. "
            "Stop that program, or set TIDEMARK_QUERY_PORT.",
        )


def test_a_broker_that_cannot_start_ends_it_with_its_last_words(tmp_path: Path) -> None:
    storage = tmp_path / "kafka" / "logs"
    storage.mkdir(parents=True)
    (storage / "meta.properties").write_text("version=1\nnode.id=77\ncluster.id=another\n")

    stack = Installation(tmp_path)
    code, _ = refusal(stack)

    assert code == 1
    assert f"broker cannot start (exit code 1). The last lines of {stack.data}" in (
        stack.output.read_text()
    )
    assert "Stored node id 77 doesn't match previous node id 1" in stack.output.read_text()


def test_a_kafka_that_is_not_there_ends_it_with_one_message(tmp_path: Path) -> None:
    code, last = refusal(Installation(tmp_path, kafka="127.0.0.1:1"))

    assert code == 1
    assert last.startswith("tidemark: Kafka at 127.0.0.1:1: ")


def test_an_existing_kafka_is_used_instead_of_one_of_our_own(tmp_path: Path) -> None:
    with (
        Broker(tmp_path / "theirs", port=free_port(), controller_port=free_port()) as theirs,
        Installation(tmp_path / "ours", kafka=theirs.address, partitions=3) as stack,
    ):
        names = list(stack.pids())
        have = partition_counts(Settings(kafka=theirs.address), ["events"])

    assert names == ["collector-1", "worker-1", "backfill", "keeper", "query-1"]
    assert have == {"events": 3}
    assert not (tmp_path / "ours" / "kafka").exists()


def test_a_demo_website_is_a_whole_value(tmp_path: Path) -> None:
    assert read_demo(tmp_path) is None
    (tmp_path / "demo.json").write_text(
        '{"collectUrl":"http://c","queryUrl":"http://q","organizationId":"o",'
        '"websiteId":"w","apiKey":"k","linkId":"l"}'
    )

    assert read_demo(tmp_path) == Demo("http://c", "http://q", "o", "w", "k", "l")
