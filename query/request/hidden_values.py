"""Hidden values: those of erasures that are not done, by which queries leave rows out.

Rows are hidden while an erasure is pending, and afterwards in versions of before, until their data
files are deleted.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from schemas.registry import Erasure, ErasureState, Selector


class HiddenValues(Struct, frozen=True):
    """Values of erasures of one owner, by which rows are hidden."""

    selector: Selector
    values: tuple[str, ...]
    property_name: str = ""
    subject_column: str = ""
    """`website_id` or `link_id`; empty: those of the whole organization."""
    subject: str = ""
    is_pending: bool = True
    """Whether the newest version of a table may have the rows."""


def hidden_values(
    erasures: Iterable[Erasure], organization_id: str, website_ids: Sequence[str] | None = None
) -> tuple[HiddenValues, ...]:
    """What is hidden of an organization, or of these websites and its links."""
    grouped: dict[tuple[Selector, str, str, str, bool], list[str]] = {}
    for erasure in erasures:
        website = erasure.website_id
        if erasure.organization_id != organization_id or (
            website and website_ids is not None and website not in website_ids
        ):
            continue
        column = "website_id" if website else "link_id" if erasure.link_id else ""
        subject = website or erasure.link_id or ""
        is_pending = erasure.state is ErasureState.PENDING
        for text in erasure.erased_values:
            selector, _, value = text.partition(":")
            key = Selector(selector), erasure.property_name, column, subject, is_pending
            grouped.setdefault(key, []).append(value)
    return tuple(
        HiddenValues(selector, tuple(values), name, column, subject, is_pending)
        for (selector, name, column, subject, is_pending), values in grouped.items()
    )
