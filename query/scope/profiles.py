"""Profiles: the profile id and traits of a visitor, from the identities ever sent of the website.

A device (an anonymous id) belongs to the profile that was sent for it last, for its whole history.
The traits of a profile are those sent last, from any of its devices. Any page can send an
identity: once one was sent with an API key, only such rows count, for the device and the profile.
"""

from collections.abc import Mapping, Sequence

from query.request.filter_struct import Filter, with_parts
from query.request.filters import FilterField
from query.request.property_path import TRAITS_COLUMN, TRAITS_PREFIX
from query.sql.row_definitions import ROW_ORDER, last_value
from query.sql.select import Cte, Join
from schemas.tables import ColumnType

IDENTITY_ROWS = "identity_rows"
"""The relation with the identities that profiles come from."""
IDENTITY_COLUMNS = (
    *("visitor_hash", "anonymous_id", "profile_id", "traits", "trusted", "sender"),
    *ROW_ORDER.split(", "),
)
PROFILES = "visitor_profiles"
PROFILE_FIELD = "visitor.profile_id"
PROFILE_COLUMN = "profile_of_visitor"
LISTED_PROFILE = "listed_profile_id"
LISTED_TRAITS = "listed_traits"
"""The same two, under names that columns of rows do not have: for joins with lists of visitors."""
PERSON = "person_hash"
"""One of the visitors of a profile, the same for all of them."""
PERSON_ID = "person_anonymous_id"
"""One of the anonymous ids of a profile, the same for all of them."""
PROFILE_JOIN = Join(PROFILES, f"{PROFILES}.profile_visitor = stored.visitor_hash")

# Rows older than the column `trusted` have it in `sender`.
SENT_WITH_KEY = """COALESCE(trusted, sender LIKE '%"trusted":true%', FALSE)"""


def profile_fields() -> Mapping[str, FilterField]:
    """What filters may name of profiles, beside `traits.<path>`."""
    return {PROFILE_FIELD: FilterField(ColumnType.STRING, f"{PROFILES}.{PROFILE_COLUMN}")}


def names_profile(filter_: Filter) -> bool:
    """Whether a filter, one in its groups or in what visitors did is about profiles."""
    fields = (part.field or "" for part in with_parts(filter_, of_behaviors=True))
    return any(field == PROFILE_FIELD or field.startswith(TRAITS_PREFIX) for field in fields)


def reads_profiles(names: frozenset[str]) -> bool:
    """Whether a relation with these names of columns needs the profiles."""
    return not names.isdisjoint((PROFILE_COLUMN, TRAITS_COLUMN, PERSON))


def profile_ctes() -> Sequence[Cte]:
    """A row for each visitor who was ever identified."""
    devices = f"""
        SELECT visitor_hash AS profile_visitor,
               {last_value("profile_id")} AS {PROFILE_COLUMN},
               MIN(anonymous_id) AS device_id
          FROM ({_counted("visitor_hash")}) AS counted
         WHERE sent_with_key = any_sent_with_key
         GROUP BY visitor_hash
    """  # noqa: S608
    traits = f"""
        SELECT profile_id AS traits_profile,
               {last_value("traits")} FILTER (WHERE traits IS NOT NULL) AS {TRAITS_COLUMN}
          FROM ({_counted("profile_id")}) AS counted
         WHERE sent_with_key = any_sent_with_key
         GROUP BY profile_id
    """  # noqa: S608
    profiles = f"""
        SELECT profile_visitor, {PROFILE_COLUMN}, {TRAITS_COLUMN},
               {PROFILE_COLUMN} AS {LISTED_PROFILE}, {TRAITS_COLUMN} AS {LISTED_TRAITS},
               MIN(profile_visitor) OVER (PARTITION BY {PROFILE_COLUMN}) AS {PERSON},
               MIN(device_id) OVER (PARTITION BY {PROFILE_COLUMN}) AS {PERSON_ID}
          FROM profile_devices
          LEFT JOIN profile_traits ON traits_profile = {PROFILE_COLUMN}
    """  # noqa: S608
    return (
        Cte("profile_devices", devices),
        Cte("profile_traits", traits),
        Cte(PROFILES, profiles),
    )


def _counted(key: str) -> str:
    """The identities of each key, and whether any was sent with an API key."""
    return f"""
        SELECT visitor_hash, anonymous_id, profile_id, traits, {ROW_ORDER},
               {SENT_WITH_KEY} AS sent_with_key,
               MAX({SENT_WITH_KEY}) OVER (PARTITION BY {key}) AS any_sent_with_key
          FROM {IDENTITY_ROWS}
         WHERE {key} IS NOT NULL
    """  # noqa: S608


def merged_devices(source: str, columns: Sequence[str]) -> str:
    """Stored rows in which the devices of a profile are one visitor."""
    others = ", ".join(f"device_rows.{name}" for name in columns if name != "visitor_hash")
    separator = ", " if others else ""
    return (
        f"(SELECT {others}{separator}COALESCE({PERSON}, device_rows.visitor_hash) AS visitor_hash "  # noqa: S608
        f"FROM {source} AS device_rows LEFT JOIN {PROFILES} AS people "
        "ON people.profile_visitor = device_rows.visitor_hash)"
    )
