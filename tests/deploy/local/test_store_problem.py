"""The errors of a real object store are said in words, the same for both of its clients."""

from collections.abc import Iterator

import pytest

from deploy.local.store_problem import explain
from schemas.lake.delta_table import open_table
from schemas.lake.object_store import (
    BRIEF,
    UNREADABLE,
    ObjectFolder,
    StoreUnreachable,
    describe,
    limit_time,
)
from schemas.tables import CLICKS, EVENTS, Table
from tests.s3.server import S3Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(autouse=True)
def _environment(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


def of_table(url: str, table: Table = EVENTS) -> tuple[str, str]:
    with limit_time(BRIEF), pytest.raises(StoreUnreachable) as raised:
        open_table(url, table)
    return explain(raised.value)


def of_listing(url: str) -> tuple[str, str]:
    with limit_time(BRIEF), pytest.raises(StoreUnreachable) as raised:
        ObjectFolder(url).names("events/_delta_log")
    return explain(raised.value)


@pytest.mark.parametrize(
    ("variable", "value", "problem", "named"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong", "it rejects the secret key", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "wrong", "it does not know the access key", "AWS_ACCESS_KEY_ID"),
        (
            "AWS_ENDPOINT_URL",
            "http://127.0.0.1:1",
            "it refuses connections: nothing listens there",
            "AWS_ENDPOINT_URL",
        ),
        (
            "AWS_ENDPOINT_URL",
            "http://nowhere.invalid:9",
            "its host name is not known",
            "AWS_ENDPOINT_URL",
        ),
    ],
)
def test_a_wrong_variable_is_named(
    variable: str,
    value: str,
    problem: str,
    named: str,
    server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)

    found = of_table(server.url)

    assert found == of_listing(server.url)
    assert (found[0], named in found[1]) == (problem, True)


def test_a_bucket_that_does_not_exist_is_said() -> None:
    expected = ("it has no such bucket", "create the bucket, or correct TIDEMARK_LAKE")

    assert of_table("s3://other/tables") == of_listing("s3://other/tables") == expected


@pytest.mark.long
def test_a_store_that_does_not_respond_is_said(server: S3Server) -> None:
    server.freeze()
    try:
        found = of_table(server.url)
        assert found == of_listing(server.url)
    finally:
        server.thaw()

    assert found[0] == "it does not respond in time"


def test_another_error_is_the_same_for_all_tables_and_all_variables_are_named() -> None:
    def error(table: Table) -> StoreUnreachable:
        where = f"http://store/lake/{table.name}/_delta_log/_last_checkpoint"
        text = f"Generic S3 error Error performing GET {where} in 3.1ms - Server returned 418"
        return StoreUnreachable(f"{UNREADABLE}{text}")

    problem, remedy = explain(error(EVENTS))

    assert (problem, remedy) == explain(error(CLICKS))
    assert problem == "Generic S3 error Server returned 418"
    assert {"TIDEMARK_LAKE", "AWS_REGION", "AWS_ACCESS_KEY_ID"} <= {
        *remedy.replace(",", "").split()
    }


def test_a_long_error_is_cut_at_a_word() -> None:
    text = describe(OSError("word " * 100))

    assert text.endswith("word …")
    assert len(text) <= 300
