"""A worker refuses to start with a library that lacks a private attribute which it uses."""

import ast
import inspect
import re
from importlib.metadata import version
from types import ModuleType

import pytest
from aiokafka.consumer.fetcher import Fetcher

from stream import faust_adapter
from stream.consumer import aiokafka_fetch
from stream.runtime.errors import IncompatibleLibrary
from stream.runtime.private_attributes import PrivateAttributes
from tests.repo.source_tree import ROOT, relative, sources, syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
USED = (faust_adapter.PRIVATE, aiokafka_fetch.PRIVATE)


@pytest.mark.parametrize("private", USED, ids=lambda private: private.library)
def test_the_pinned_version_is_the_locked_one(private: PrivateAttributes) -> None:
    lock = (ROOT / "deploy" / "locks" / "run.txt").read_text()

    assert re.findall(rf"^{private.library}==(\S+)", lock, re.MULTILINE) == [private.version]


def test_the_installed_libraries_have_what_the_worker_uses() -> None:
    faust_adapter.check_libraries()


def test_the_error_names_attribute_library_and_versions() -> None:
    private = PrivateAttributes("aiokafka", "0.14.0", {Fetcher: ("_fetch_min_bytes", "_gone")})

    with pytest.raises(IncompatibleLibrary) as raised:
        private.check()

    assert str(raised.value) == (
        f"aiokafka.consumer.fetcher.Fetcher of aiokafka {version('aiokafka')} has no attribute "
        "_gone; this worker is written for aiokafka 0.14.0: install that version"
    )


@pytest.mark.parametrize("module", [faust_adapter, aiokafka_fetch], ids=lambda m: m.__name__)
def test_every_private_attribute_that_is_used_is_checked(module: ModuleType) -> None:
    nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
    functions = {node.name for node in nodes if isinstance(node, FUNCTIONS)}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr[0] == "_"]
    used = {node.attr for node in attributes}
    set_on_self = {ast.unparse(node)[5:] for node in attributes if isinstance(node.ctx, ast.Store)}
    listed = {name for names in module.PRIVATE.names.values() for name in names}

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
