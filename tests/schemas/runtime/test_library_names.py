"""Undocumented names of aiokafka and uvicorn that are used, and what another version would meet."""

from collections.abc import Callable

import pytest
from aiokafka.producer.sender import Sender
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ingest.publishing.kafka_connection import TESTED_AIOKAFKA, check_aiokafka
from schemas.http.protocol import TESTED_UVICORN, check_uvicorn
from schemas.runtime.library_names import UnsupportedLibrary
from tests.installation import ROOT


@pytest.mark.parametrize(
    ("check", "owner", "attribute", "advice"),
    [
        (check_aiokafka, Sender, "sender_task", f"aiokafka=={TESTED_AIOKAFKA}"),
        (check_uvicorn, HttpToolsProtocol, "_start_asgi_task", f"uvicorn=={TESTED_UVICORN}"),
        (check_uvicorn, FlowControl, "__init__", f"uvicorn=={TESTED_UVICORN}"),
    ],
)
def test_a_version_without_a_name_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
    check: Callable[[], None],
    owner: type,
    attribute: str,
    advice: str,
) -> None:
    check()
    monkeypatch.delattr(owner, attribute)

    with pytest.raises(
        UnsupportedLibrary, match=rf"has no '{owner.__name__}\.\w+'; install "
    ) as found:
        check()

    assert str(found.value).endswith(advice)


def test_the_versions_are_those_of_the_lock() -> None:
    lock = (ROOT / "deploy/locks/run.txt").read_text()

    for pinned in (f"\naiokafka=={TESTED_AIOKAFKA} ", f"\nuvicorn=={TESTED_UVICORN} "):
        assert pinned in lock
