"""`tidemark import` as it is typed: its exit codes, what it says, and what it leaves behind."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.cli import main
from deploy.importer.import_records import begin_or_resume
from deploy.importer.sender import CollectorReply, ItemRejection
from deploy.importer.source_file import SourceFile
from deploy.importer.visitor_ids import visitor_ids
from schemas.registry import Import, ImportState, Key, Organization, RegistryStore, Website
from schemas.runtime.settings import Settings
from tests.pauses import replace_pauses
from tests.registries import make_registry

STAMPS: dict[str, Any] = {"created_at": 1_795_262_400_000, "updated_at": 1_795_262_400_000}
WEBSITE = Website(id="w1", organization_id="o1", domain="a.example", **STAMPS)


class Endpoint(ThreadingHTTPServer):
    """Answers imports like the collector: takes every event but those called `bad`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.names: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).splitlines()
        names = [msgspec.json.decode(item)["name"] for item in body]
        self.server.names += [name for name in names if name != "bad"]
        bad = [ItemRejection(index, "no") for index, name in enumerate(names) if name == "bad"]
        code = "NO_ITEM_ACCEPTED" if len(bad) == len(names) else ""
        reply_body = msgspec.json.encode(CollectorReply(len(names) - len(bad), bad, code=code))
        self.send_response(400 if code else 200)
        self.send_header("Content-Length", str(len(reply_body)))
        self.end_headers()
        self.wfile.write(reply_body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def store(tmp_path: Path) -> RegistryStore:
    url = Settings(data_dir=str(tmp_path)).registry_url
    make_registry(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(WEBSITE)
    return store


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def command(
    tmp_path: Path, store: RegistryStore, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., int]:
    """`tidemark import` of a file; the exit code."""
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    def run_it(path: Path, *arguments: str) -> int:
        url = f"http://127.0.0.1:{endpoint.server_port}"
        try:
            main(["import", str(path), "--website", "w1", "--url", url, *arguments])
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    return run_it


def states(store: RegistryStore) -> list[tuple[str, int, int, int]]:
    return [(o.state.value, o.lines, o.accepted, o.rejected) for o in store.list(Import)]


def test_a_command_that_cannot_be_obeyed_leaves_no_import_that_the_next_goes_on_with(
    tmp_path: Path, store: RegistryStore, endpoint: Endpoint, command: Callable[..., int]
) -> None:
    path, empty = tmp_path / "a.csv", tmp_path / "empty.csv"
    path.write_text("ts,name\n1001,e1\n1002,e2\n")
    empty.write_text("")

    codes = [
        command(path),
        command(path),
        command(path, "--again", "--map", "foo=name"),
        command(path, "--again", "--format", "ndjson"),
        command(empty),
        command(path),
    ]

    assert codes == [0, 1, 1, 1, 1, 1]
    assert endpoint.names == ["e1", "e2"]
    assert states(store) == [("done", 3, 2, 0)]  # three lines, as the file has with its header


def test_an_import_begun_again_goes_on_only_when_that_is_said_again(
    tmp_path: Path, store: RegistryStore, endpoint: Endpoint, command: Callable[..., int]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts,name\n1001,e1\n")
    command(path)
    second = begin_or_resume(store, WEBSITE, SourceFile(path), again=True)

    assert [command(path), command(path, "--again")] == [1, 0]
    assert store.get(Import, second.id).state is ImportState.DONE
    assert endpoint.names == ["e1", "e1"]


def test_an_import_of_which_nothing_was_accepted_fails_and_does_not_bar_the_right_one(
    tmp_path: Path,
    store: RegistryStore,
    endpoint: Endpoint,
    command: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts,name,event\n1001,bad,e1\n1002,bad,e2\n")

    assert command(path) == 1
    assert capsys.readouterr().err == (
        "tidemark: no event of a.csv was accepted; 2 lines were rejected, line 2 because no; "
        f"the reasons are in {path}.rejects.ndjson\n"
    )
    assert command(path, "--map", "event=name") == 0
    assert endpoint.names == ["e1", "e2"]
    assert states(store) == [("undoing", 3, 0, 2), ("done", 3, 2, 0)]
    assert not Path(f"{path}.rejects.ndjson").exists()


def test_a_collector_that_is_away_is_told_once_and_waited_for_until_it_is_stopped(
    tmp_path: Path,
    store: RegistryStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pauses: list[float] = []
    path = tmp_path / "a.csv"
    path.write_text("ts,name\n1001,e1\n")
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    replace_pauses(monkeypatch, pause)
    with socket.socket() as nobody:  # bound, but it does not listen
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(SystemExit) as ended:
            main(["import", str(path), "--website", "w1", "--url", f"http://{address}"])

    (one,) = store.list(Import)
    assert (ended.value.code, pauses, one.state) == (130, [0.1, 0.2, 0.4], ImportState.OPEN)
    assert capsys.readouterr().err.splitlines() == [
        f"the collector at {address} does not respond; retrying",
        f"stopped; run the same command again to resume, or `tidemark import undo {one.id}` "
        "to remove it",
    ]
    assert store.list(Key) == []


def test_help_says_that_a_file_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    main(["import", "--help"])

    assert capsys.readouterr().out.splitlines()[0] == (
        "Usage: tidemark import [OPTIONS] FILE --website ID | COMMAND [ARGS]..."
    )


AMPLITUDE = (
    '{"event_type": "%s", "event_time": "2026-11-0%d 10:00:00", "amplitude_id": 7, '
    '"device_id": "d1", "uuid": "u%d", "event_properties": {"plan": "pro"}}\n'
)


def test_a_check_shows_what_would_be_stored_and_needs_no_website(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "amplitude.json"
    kinds = (("buy", 1), ("buy", 2), ("session_start", 2), ("open", 2))
    path.write_text("".join(AMPLITUDE % (kind, day, n) for n, (kind, day) in enumerate(kinds)))

    main(["import", "--check", "--json", str(path)])
    shown = msgspec.json.decode(capsys.readouterr().out)
    main(["import", str(path), "--check"])
    printed = capsys.readouterr().out

    first = shown.pop("rows")[0]
    assert shown == {
        "kind": "events",
        "product": "Amplitude",
        "recognizedBy": ["amplitude_id", "event_time", "event_type"],
        "note": "",
        "files": 1,
        "filesLeftOut": [],
        "accepted": 3,
        "rejected": 1,
        "names": {"buy": 2, "open": 1},
        "days": {"2026-11-01": 1, "2026-11-02": 2},
        "reasons": {
            "this is no event of a visitor: Amplitude adds 'session_start' by itself": 1,
        },
        "columns": {},
        "ignoredColumns": [],
        "factsLeftOut": {},
    }
    assert first == {
        "timestamp": "2026-11-01 10:00:00",
        "name": "buy",
        "eventId": "u0",
        "anonymousId": "d1",
        "properties": {"plan": "pro"},
    }
    assert printed.startswith("amplitude.json: Amplitude\n  recognized by amplitude_id, ")
    assert "\n3 events\n             2  buy\n             1  open\n\n2 days\n" in printed
    assert list(tmp_path.iterdir()) == [path]


def test_standard_input_and_folders_are_imported(
    tmp_path: Path,
    endpoint: Endpoint,
    command: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ts,name\n1001,e1\n")))
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "1.csv").write_text("ts,name\n1001,e2\n")
    (folder / "2.ndjson").write_text('{"ts": 1002, "name": "e3"}\n')

    codes = [command(Path("-")), command(folder), command(folder), command(tmp_path / "absent")]

    assert codes == [0, 0, 1, 1]
    assert endpoint.names == ["e1", "e2", "e3"]


def test_visitors_of_an_access_log_have_hashes_that_no_other_website_has(
    store: RegistryStore,
) -> None:
    other = Website(id="w2", organization_id="o1", domain="b.example", **STAMPS)
    parts = "20758\x00192.0.2.7\x00Firefox"

    first, second = visitor_ids(store, WEBSITE)(parts), visitor_ids(store, other)(parts)

    assert first == visitor_ids(store, WEBSITE)(parts) != second
    assert "192" not in first


def test_a_log_is_followed_over_a_rotation_until_it_is_stopped(
    tmp_path: Path,
    store: RegistryStore,
    endpoint: Endpoint,
    command: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = '192.0.2.7 - - [01/Nov/2026:10:00:00 +0000] "GET /%s HTTP/1.1" %d 5\n'
    path = tmp_path / "access.log"
    path.write_text(line % ("a", 200))
    pauses = iter(range(9))

    def write_rotate_or_stop(_: float) -> None:
        pause = next(pauses)
        if pause == 1:
            with path.open("a") as log:
                log.write(line % ("b", 200) + line % ("b", 404))
            path.rename(tmp_path / "access.log.1")
            path.write_text(line % ("c", 200))
        elif pause > 2:
            raise KeyboardInterrupt

    replace_pauses(monkeypatch, write_rotate_or_stop)

    assert command(path, "--follow") == 0
    assert endpoint.names == ["pageview"] * 3
    assert states(store) == [("done", 3, 2, 1), ("open", 1, 1, 0)]
    assert store.list(Key) == []
    assert command(path, "--follow", "--check") == 2
