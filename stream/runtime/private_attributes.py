"""Private attributes of libraries: named in one place each, and checked when a worker starts."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from inspect import isfunction

from msgspec import Struct

from stream.runtime.errors import IncompatibleLibrary


class PrivateAttributes(Struct, frozen=True):
    """The private attributes that we read, set or override, and the version that has them."""

    library: str
    """Name of the distribution."""
    version: str
    names: Mapping[type, Sequence[str]]

    def check(self) -> None:
        """IncompatibleLibrary when the installed version lacks one of them."""
        for owner, names in self.names.items():
            for name in names:
                if not _has(owner, name):
                    raise IncompatibleLibrary(
                        f"{owner.__module__}.{owner.__qualname__} of {self.library} "
                        f"{version(self.library)} has no attribute {name}; this worker is written "
                        f"for {self.library} {self.version}: install that version"
                    )


def _has(owner: type, name: str) -> bool:
    """Whether instances have the attribute: from a class, or by the code of an `__init__`."""
    initializers = [vars(base).get("__init__") for base in owner.__mro__]
    codes = [initializer.__code__ for initializer in initializers if isfunction(initializer)]
    return hasattr(owner, name) or any(name in code.co_names for code in codes)
