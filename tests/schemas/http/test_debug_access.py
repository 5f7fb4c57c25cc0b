"""A token of the query service reads `/debug` as its key does, for a minute."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from schemas.errors import Forbidden, Unauthorized
from schemas.http.debug_access import TOKEN_MS, debug_token, require_debug_key
from schemas.receipts import ReceiptKey
from schemas.registry import KeyScope, RegistryStore, Snapshot
from schemas.registry.signed_tokens import TokenKind, new_token, sign
from tests.access_model import callers, populate

NOW = 1_795_000_000_000
SECRET = "ab" * 32


@pytest.fixture
def registry(new_registry: Path) -> Iterator[Snapshot]:
    copied = new_registry.with_name("debug-access.db")
    shutil.copy(new_registry, copied)
    store = RegistryStore(f"sqlite:///{copied}")
    populate(store, NOW)
    list(callers(store, NOW))
    yield structs.replace(Snapshot.read(store), receipt_key=ReceiptKey(SECRET))
    store.close()


def test_a_token_has_the_access_of_its_key_until_it_ends(registry: Snapshot) -> None:
    for key in registry.keys.values():
        token = debug_token(registry, key, NOW)
        if not key.is_active(NOW):
            with pytest.raises(Unauthorized):
                require_debug_key(registry, token, NOW)
        elif not key.has_scope(KeyScope.READ_DATA):
            with pytest.raises(Forbidden):
                require_debug_key(registry, token, NOW)
        else:
            assert require_debug_key(registry, token, NOW + TOKEN_MS - 1) is key
            with pytest.raises(Unauthorized):
                require_debug_key(registry, token, NOW + TOKEN_MS)


def test_a_token_of_another_kind_or_secret_is_refused(registry: Snapshot) -> None:
    [key, *_] = (key for key in registry.keys.values() if key.has_scope(KeyScope.READ_DATA))
    others = structs.replace(registry, receipt_key=ReceiptKey("cd" * 32))
    session = sign(
        new_token(TokenKind.SESSION, key.id, NOW + 1),
        registry.receipt_key.secret_for(TokenKind.DEBUG),
    )

    for text in (debug_token(others, key, NOW), session, "debug", None):
        with pytest.raises(Unauthorized):
            require_debug_key(registry, text, NOW)
