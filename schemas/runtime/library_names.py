"""Undocumented names of libraries, looked for at start: another version is a clear error."""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version


class UnsupportedLibrary(Exception):
    """The installed version of a library lacks an attribute that is used and not documented."""


def require_names(library: str, tested: str, names: Mapping[type, Iterable[str]]) -> None:
    """UnsupportedLibrary, with the attribute and the pinned version, if a class lacks one.

    An attribute is there if the class has it, or its `__init__` names it.
    """
    for owner, attributes in names.items():
        initializer: Callable[..., None] = vars(owner).get("__init__", object.__init__)
        code = getattr(initializer, "__code__", None)
        assigned = code.co_names if code else ()
        for attribute in attributes:
            if not hasattr(owner, attribute) and attribute not in assigned:
                raise UnsupportedLibrary(
                    f"{library} {version(library)} has no '{owner.__name__}.{attribute}'; "
                    f"install {library}=={tested}"
                )
