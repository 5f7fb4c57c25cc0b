"""`tidemark reconcile`: what it refuses before it asks anything."""

from pathlib import Path

import pytest

from tests.deploy.cli.command_result import Run


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        (
            "timestamp,name\n2026-11-01T10:00:00Z,signup\n",
            (),
            1,
            "has no totals of a known report; `tidemark import FILE --check` shows what it is",
        ),
        (
            "date,visitors,pageviews\n2026-11-01,x,25\n",
            (),
            1,
            "no line has totals of Plausible; line 2: 'visitors' is 'x', and is no count",
        ),
        (
            "date,visitors,pageviews\n2026-11-01,10,25\n2026-11-02,8,20\n",
            ("--from", "2026-11-03"),
            2,
            "the file has the days 2026-11-01 to 2026-11-02, and none from 2026-11-03 to ",
        ),
        (
            "date,visitors,pageviews\n2024-11-01,10,25\n2026-11-02,8,20\n",
            ("--from", "2024-11-01"),
            2,
            "--from and --to span more than 366 days",
        ),
    ],
    ids=["events", "no count", "other days", "more than a year"],
)
def test_what_cannot_be_compared_is_refused(
    run: Run, tmp_path: Path, text: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)

    done = run("reconcile", str(path), "web_x", *arguments)

    assert (done.code, message in done.err) == (code, True), done.err
