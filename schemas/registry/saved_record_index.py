"""SavedRecordIndex: saved records in memory by website, updated copy-on-write."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self, TypeVar

from msgspec import Struct

from schemas.registry.saved_records import SavedRecord

SavedT = TypeVar("SavedT", bound=SavedRecord)


class SavedRecordIndex(Struct, frozen=True):
    """Saved records of all websites."""

    by_website: Mapping[str, Mapping[str, SavedRecord]] = {}
    """Records by id, of each website that has some."""

    def of(self, website_id: str, kind: type[SavedT]) -> Sequence[SavedT]:
        """Records of one class of a website."""
        records = self.by_website.get(website_id, {}).values()
        return [record for record in records if isinstance(record, kind)]

    def find(self, website_id: str, kind: type[SavedT], reference: str) -> SavedT | None:
        """The record of a website with this id, or else with this name."""
        by_id = self.by_website.get(website_id, {}).get(reference)
        if isinstance(by_id, kind):
            return by_id
        named = (r for r in self.of(website_id, kind) if getattr(r, "name", None) == reference)
        return next(named, None)

    def updated(self, deleted_ids: Iterable[str], changed: Iterable[SavedRecord]) -> Self:
        """A copy without the deleted records and with the changed ones."""
        copied: dict[str, dict[str, SavedRecord]] = {}
        for record_id in deleted_ids:
            for website_id, records in self.by_website.items():
                if record_id in records:
                    self._copy(website_id, copied).pop(record_id)
        for record in changed:
            self._copy(record.website_id, copied)[record.id] = record
        return type(self)({**self.by_website, **copied}) if copied else self

    def _copy(
        self, website_id: str, copied: dict[str, dict[str, SavedRecord]]
    ) -> dict[str, SavedRecord]:
        """The records of a website in a copy that may be changed, made once."""
        if website_id not in copied:
            copied[website_id] = dict(self.by_website.get(website_id, {}))
        return copied[website_id]
