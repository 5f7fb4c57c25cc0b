"""A worker refuses to start with a library that lacks a private attribute which it uses."""

import ast
import inspect
from types import ModuleType

import pytest
from aiokafka.consumer.fetcher import Fetcher
from faust.tables.manager import TableManager
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread

from stream import faust_adapter
from stream.consumer import aiokafka_fetch
from stream.runtime.errors import IncompatibleLibrary
from tests.repo.source_tree import ROOT, relative, sources, syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_the_versions_are_those_of_the_lock() -> None:
    lock = (ROOT / "deploy/locks/run.txt").read_text()

    assert f"\nfaust-streaming=={faust_adapter.TESTED_FAUST} " in lock
    assert f"\naiokafka=={aiokafka_fetch.TESTED_AIOKAFKA} " in lock


@pytest.mark.parametrize(
    ("owner", "attribute", "advice"),
    [
        (TableManager, "_recovery", "faust-streaming==0.15.3"),
        (AIOKafkaConsumerThread, "_fetch_records", "faust-streaming==0.15.3"),
        (Fetcher, "__init__", "aiokafka==0.14.0"),
    ],
)
def test_the_error_names_attribute_library_and_versions(
    monkeypatch: pytest.MonkeyPatch, owner: type, attribute: str, advice: str
) -> None:
    faust_adapter.check_libraries()
    monkeypatch.delattr(owner, attribute)
    missing = "_fetch_min_bytes" if attribute == "__init__" else attribute
    library, _, installed = advice.partition("==")

    with pytest.raises(IncompatibleLibrary) as raised:
        faust_adapter.check_libraries()

    assert str(raised.value) == (
        f"{library} {installed} has no '{owner.__name__}.{missing}'; install {advice}"
    )


@pytest.mark.parametrize("module", [faust_adapter, aiokafka_fetch], ids=lambda m: m.__name__)
def test_every_private_attribute_that_is_used_is_checked(module: ModuleType) -> None:
    nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
    functions = {node.name for node in nodes if isinstance(node, FUNCTIONS)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr[0] == "_"]
    used = {node.attr for node in attributes}
    set_on_self = {ast.unparse(node)[5:] for node in attributes if isinstance(node.ctx, ast.Store)}
    listed = {name for names in module.PRIVATE_NAMES.values() for name in names}

    assert used - functions - set_on_self <= listed <= used | functions


def test_other_modules_of_the_stream_use_no_private_attribute_of_a_library() -> None:
    """Attributes of `self` and `cls` are those of the module's own classes."""
    users = {
        relative(source)
        for source in sources("stream")
        for node in ast.walk(syntax(source))
        if isinstance(node, ast.Attribute)
        and node.attr[0] == "_"
        and node.attr[:2] != "__"
        and ast.unparse(node) != "os._exit"
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }

    assert users == {"stream/faust_adapter.py", "stream/consumer/aiokafka_fetch.py"}
