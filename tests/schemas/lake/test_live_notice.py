"""A notice that one process writes is read by others, in a folder and in an object store."""

from pathlib import Path

import pytest

from schemas.lake.live_notice import LIVE_FOLDER, LiveNotice
from schemas.tables import EVENTS, VITALS
from tests.s3.server import S3Server


@pytest.mark.parametrize("kind", ["folder", "url", "bucket"])
def test_a_notice_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with S3Server(tmp_path / "s3") as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        lakes = {
            "folder": str(tmp_path),
            "url": tmp_path.as_uri(),
            "bucket": f"{server.url}/tables",
        }
        written, read = (LiveNotice(lakes[kind], EVENTS) for _ in range(2))
        assert read.read() == 0
        for now_ms in (1_795_000_000_000, 1_795_000_005_000):
            written.write(now_ms)
            assert read.read() == now_ms
        assert LiveNotice(lakes[kind], VITALS).read() == 0


def test_what_is_no_time_counts_as_no_notice(tmp_path: Path) -> None:
    (tmp_path / LIVE_FOLDER).mkdir()
    (tmp_path / LIVE_FOLDER / EVENTS.name).write_text("soon")

    assert LiveNotice(str(tmp_path), EVENTS).read() == 0


def test_a_lake_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        LiveNotice(str(tmp_path / "nowhere"), EVENTS).write(1)
