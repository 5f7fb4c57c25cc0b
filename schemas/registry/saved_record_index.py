"""SavedRecordIndex: saved records in memory by website, updated copy-on-write."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

from msgspec import Struct

from schemas.errors import Malformed
from schemas.registry.saved_records import Alias, SavedRecord

SavedT = TypeVar("SavedT", bound=SavedRecord)


class SavedRecords(Struct, frozen=True):
    """Saved records of the websites of a query."""

    by_id: Mapping[str, SavedRecord] = {}

    def of(self, record_type: type[SavedT]) -> Sequence[SavedT]:
        """Records of one class, oldest first."""
        return [record for record in self.by_id.values() if isinstance(record, record_type)]

    def find(self, record_type: type[SavedT], reference: str) -> SavedT | None:
        """The record with this id, or else with this name.

        Malformed when several websites have one of this name: each may mean something else by it.
        """
        record = self.by_id.get(reference)
        if isinstance(record, record_type):
            return record
        named = [r for r in self.of(record_type) if getattr(r, "name", None) == reference]
        if len(named) > 1:
            ids = ", ".join(f"'{one.id}' (website '{one.website_id}')" for one in named)
            raise Malformed(f"Several of the websites have a '{reference}'; give its id: {ids}")
        return named[0] if named else None


class SavedRecordIndex(Struct, frozen=True):
    """Saved records of all websites."""

    by_website: Mapping[str, Mapping[str, SavedRecord]] = {}
    """Records by id, of each website that has some."""

    def of_website(self, website_id: str) -> SavedRecords:
        """The records of a website."""
        return SavedRecords(self.by_website.get(website_id, {}))

    def aliases(self) -> Iterator[Alias]:
        """Ids of other products' trackers, of all websites."""
        for records in self.by_website.values():
            yield from (record for record in records.values() if isinstance(record, Alias))

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
