"""Rows of a result that are made when they are read: a page of a long list costs what it shows."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row


class LazyRows(Sequence[Row]):
    """The rows in their order."""

    @abstractmethod
    def rows(self, at: Numbers) -> Sequence[Row]:
        """The rows at some positions."""

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | Sequence[Row]:
        if isinstance(key, int):
            return self.rows(np.array([range(len(self))[key]]))[0]
        return self.rows(np.arange(len(self))[key])

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows(np.arange(len(self))))
