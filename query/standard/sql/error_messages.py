"""What groups of errors have in common: the message, or its pattern."""

from typing import Literal

from query.sql.message_pattern import message_pattern
from query.standard.declaration.query_type import QueryOptions


class ErrorGrouping(QueryOptions, frozen=True):
    """Options of types whose rows are groups of errors."""

    by: Literal["message", "message_pattern"] = "message"

    @property
    def message(self) -> str:
        """SQL of what the messages of a group have in common."""
        return "message" if self.by == "message" else message_pattern("message")
