"""Undocumented names of libraries, looked for at start: another version is a clear error."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from inspect import isfunction


class UnsupportedLibrary(Exception):
    """The installed version of a library lacks an attribute that is used and not documented."""


def require_names(library: str, tested: str, names: Mapping[type, Iterable[str]]) -> None:
    """UnsupportedLibrary, with the attribute and the pinned version, if a class lacks one.

    An attribute is there if the class has it, or its `__init__` or that of a base names it.
    """
    for owner, attributes in names.items():
        initializers = [vars(base).get("__init__") for base in owner.__mro__]
        codes = [initializer.__code__ for initializer in initializers if isfunction(initializer)]
        assigned = {name for code in codes for name in code.co_names}
        for attribute in attributes:
            if not hasattr(owner, attribute) and attribute not in assigned:
                raise UnsupportedLibrary(
                    f"{library} {version(library)} has no '{owner.__name__}.{attribute}'; "
                    f"install {library}=={tested}"
                )
