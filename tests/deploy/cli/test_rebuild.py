"""`tidemark rebuild` on the command line; what it makes is tested in tests/query/prepared."""

from tests.deploy.cli.command_result import Run


def test_an_installation_without_events_has_nothing_to_prepare(run: Run) -> None:
    run("quickstart", "shop.example")

    done = run("rebuild")

    assert (done.code, done.out) == (
        0,
        "0 prepared results of 1 websites, 0.0 MB in all\n"
        "data files that were written today have none before midnight (UTC)\n",
    )


def test_what_cannot_be_prepared_is_said(run: Run) -> None:
    run("quickstart", "shop.example")

    unknown = run("rebuild", "--website", "web_none")
    off = run("rebuild", TIDEMARK_PREPARED_MB="0")

    assert (unknown.code, off.code) == (2, 1)
    assert "web_none" in unknown.err
    assert off.err == "tidemark: prepared results are switched off: TIDEMARK_PREPARED_MB is 0\n"
