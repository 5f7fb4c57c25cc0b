"""Object stores: reads and writes objects under a URL; every failure is an OSError.

Endpoint, region and credentials come from the usual AWS_ variables, for us as for deltalake: both
use the same client. The limits of time are ours, because its own retries go on for three minutes.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from textwrap import shorten
from typing import Any

from msgspec import Struct

from schemas.runtime.environment import allows_http


class TimeLimits(Struct, frozen=True):
    """How long an object store may take, in seconds."""

    connect: int = 3
    request: int = 15
    retry: int = 10
    """From which on nothing is tried again."""
    retries: int = 3


BRIEF = TimeLimits(request=4, retry=1, retries=0)
"""For who would rather know that the store does not answer than wait for it."""

UNREADABLE = "the object store cannot be read: "
"""Before what the store says."""
MAX_TEXT_LENGTH = 300
_limits = [TimeLimits()]
"""Time limits of object stores in this process; the last ones set count."""
_COLORS = re.compile(r"\x1b\[\d+m")


def is_object_store(url: str) -> bool:
    """Whether a URL is not a local folder."""
    return "://" in url and not url.startswith("file://")


def time_limits() -> TimeLimits:
    """The limits for what is opened now."""
    return _limits[-1]


@contextmanager
def limit_time(limits: TimeLimits) -> Iterator[None]:
    """Within the context these limits are for all threads of the process."""
    _limits.append(limits)
    try:
        yield
    finally:
        _limits.pop()


def storage_options(url: str) -> dict[str, str] | None:
    """Options with which deltalake opens a table: limits of time; None for a local folder."""
    if not is_object_store(url):
        return None
    limits = time_limits()
    return {
        "connect_timeout": f"{limits.connect}s",
        "timeout": f"{limits.request}s",
        "max_retries": str(limits.retries),
        "retry_timeout": f"{limits.retry}s",
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
            raise StoreUnreachable(f"{UNREADABLE}{describe(error)}") from None
        raise


def describe(error: Exception) -> str:
    """The error of a store in one line, without its debug output and colors."""
    text = _COLORS.sub("", str(error).partition("Debug source")[0]).replace("↳", "")
    return shorten(text.removeprefix("Kernel error -> "), MAX_TEXT_LENGTH, placeholder=" …")


class ObjectFolder:
    """The objects under a URL of an object store; names are relative to it."""

    def __init__(self, url: str) -> None:
        # Imported here: a process with a local lake does not need the library.
        import obstore
        from obstore import store

        self.url = url.rstrip("/")
        self._obstore: Any = obstore
        limits = time_limits()
        client: Any = {
            "connect_timeout": timedelta(seconds=limits.connect),
            "timeout": timedelta(seconds=limits.request),
            "allow_http": allows_http(),
        }
        retry: Any = {
            "max_retries": limits.retries,
            "retry_timeout": timedelta(seconds=limits.retry),
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

    def entries(self, folder: str = "") -> Iterator[tuple[str, int, int]]:
        """Name, size and time (Unix milliseconds) of all objects below a folder."""
        prefix = f"{folder.rstrip('/')}/" if folder else None
        with _os_errors():
            for listed in self._obstore.list(self._store, prefix):
                for entry in listed:
                    modified_ms = round(entry["last_modified"].timestamp() * 1000)
                    yield entry["path"], entry["size"], modified_ms

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
