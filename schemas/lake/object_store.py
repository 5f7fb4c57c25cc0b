"""Object stores: reads and writes objects under a URL; every failure is an OSError.

Endpoint, region and credentials come from the usual AWS_ variables, for us as for deltalake: both
use the same client. The limits of time are ours, because its own retries go on for three minutes.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from schemas.runtime.environment import allows_http

CONNECT_SECONDS, REQUEST_SECONDS, RETRY_SECONDS, RETRIES = 3, 15, 10, 3
_COLORS = re.compile(r"\x1b\[\d+m")


def is_object_store(url: str) -> bool:
    """Whether a URL is not a local folder."""
    return "://" in url and not url.startswith("file://")


def storage_options(url: str) -> dict[str, str] | None:
    """Options with which deltalake opens a table: limits of time; None for a local folder."""
    if not is_object_store(url):
        return None
    return {
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{REQUEST_SECONDS}s",
        "max_retries": str(RETRIES),
        "retry_timeout": f"{RETRY_SECONDS}s",
        "allow_http": str(allows_http()).lower(),
    }


class StoreUnreachable(OSError):
    """The object store of the tables does not answer, or rejects the request; a single line."""


@contextmanager
def one_line_errors(url: str) -> Iterator[None]:
    """Errors of deltalake about a table in an object store as StoreUnreachable."""
    try:
        yield
    except OSError as error:
        if is_object_store(url) and not isinstance(error, StoreUnreachable):
            raise StoreUnreachable(f"the object store cannot be read: {describe(error)}") from None
        raise


def describe(error: Exception) -> str:
    """The error of a store in one line, without its debug output and colors."""
    text = _COLORS.sub("", str(error).partition("Debug source")[0]).replace("↳", "")
    return " ".join(text.removeprefix("Kernel error -> ").split())[:300]


class ObjectFolder:
    """The objects under a URL of an object store; names are relative to it."""

    def __init__(self, url: str) -> None:
        # Imported here: a process with a local lake does not need the library.
        import obstore
        from obstore import store

        self.url = url.rstrip("/")
        self._obstore: Any = obstore
        client: Any = {
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "timeout": timedelta(seconds=REQUEST_SECONDS),
            "allow_http": allows_http(),
        }
        retry: Any = {
            "max_retries": RETRIES,
            "retry_timeout": timedelta(seconds=RETRY_SECONDS),
        }
        with _os_errors():
            self._store = store.from_url(self.url, client_options=client, retry_config=retry)

    def read(self, name: str) -> bytes:
        """An object; FileNotFoundError when there is none."""
        with _os_errors():
            return bytes(self._obstore.get(self._store, name).bytes())

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of an object."""
        with _os_errors():
            return bytes(self._obstore.get_range(self._store, name, start=start, length=length))

    def size(self, name: str) -> int:
        """Size of an object; FileNotFoundError when there is none."""
        with _os_errors():
            return int(self._obstore.head(self._store, name)["size"])

    def names(self, folder: str = "", *, after: str = "") -> Sequence[str]:
        """Names of the objects directly in a folder, without its own name, in order.

        With `after` those behind that name: one request for each 1,000 of them.
        """
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        with _os_errors():
            if after:
                listed = self._obstore.list(self._store, prefix or None, offset=prefix + after)
                paths = [each["path"] for some in listed for each in some]
            else:
                found = self._obstore.list_with_delimiter(self._store, prefix or None)["objects"]
                paths = [each["path"] for each in found]
        names = (path.removeprefix(prefix) for path in paths)
        return sorted(name for name in names if "/" not in name)

    def put(self, name: str, content: bytes | Path) -> None:
        """Write an object: bytes in one request, a large file in several."""
        with _os_errors():
            self._obstore.put(self._store, name, content)

    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""
        with suppress(FileNotFoundError), _os_errors():
            self._obstore.delete(self._store, name)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one of that name; whether it was written."""
        try:
            with _os_errors():
                self._obstore.put(self._store, name, content, mode="create")
        except FileExistsError:
            return False
        return True

    async def read_range_async(self, name: str, start: int, length: int) -> memoryview:
        """Some bytes of an object; fewer, or StoreUnreachable, when it ends before them."""
        with _os_errors():
            read = self._obstore.get_range_async(self._store, name, start=start, length=length)
            return memoryview(await read)


@contextmanager
def _os_errors() -> Iterator[None]:
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        yield
    except OSError:
        raise
    except AlreadyExistsError:
        raise FileExistsError from None
    except BaseError as error:
        raise StoreUnreachable(describe(error)) from None
