"""Queries of a shared dashboard: all have its fixed filters, and nothing widens them."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from query.request.subject import SubjectKind
from query.standard.declaration.query_type import QueryType
from query.standard.query_types import FAMILIES
from query.standard.shared_queries import SHARED_TYPES
from schemas.registry import Share
from schemas.registry.share_links import with_new_link
from tests.http_client import Reply
from tests.query.lake import Stored, a_view, an_event, an_identity
from tests.query.query_service import NOVEMBER, NOW, InProcessService, start_service
from tests.query.shared_dashboards import SharedDashboard, opened
from tests.query.standard.diverse_rows import ROWS

TYPES = [t for family in FAMILIES for t in family if t.subject is SubjectKind.WEBSITE]
ON_DOCS: Mapping[str, Any] = {"field": "path", "operator": "starts_with", "value": "/docs"}
FR: Mapping[str, Any] = {"field": "country", "operator": "eq", "value": "FR"}
ANY: Mapping[str, Any] = {"field": "path", "operator": "is_not_null"}
FIXED: Mapping[str, list[Mapping[str, Any]]] = {
    "path": [{"field": "path", "operator": "in", "value": ["/0", "/next/0", "/1"]}],
    "visit": [{"field": "visit.entry_page", "operator": "eq", "value": "/1"}],
    "group": [{"or": [{"not": {"field": "path", "operator": "eq", "value": "/0"}}]}],
    "behavior": [{"has_done": {"path": "/next/1"}}],
}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "goals": {"goals": [{"event": "n0"}, {"path": "/1"}], "breakdown": "country"},
}
"""Options for types whose example a shared dashboard may not ask."""
IDS = ("anonymous_id", "session_id", "event_id", "visitor_id", "profile_id", "traits")


def private(visitor: str, **more: Any) -> list[Stored]:
    """What a visitor without an id of the sender did outside of /docs."""
    return [a_view("/private", visitor=visitor, session=f"p{visitor}", visitor_made=True, **more)]


DOCS = [
    *(a_view("/docs/a", visitor=f"d{n}", session=f"d{n}", country="DE") for n in range(3)),
    an_event("signup", visitor="d0", session="d0", path="/docs/a", properties='{"plan":"a"}'),
    *private("d0", country="DE"),
    *private("e", country="FR"),
    an_event("secret", visitor="d1", session="d1", path="/private", properties='{"plan":"b"}'),
    an_identity("anna", visitor="d0", traits='{"email":"anna@client.example"}'),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(*ROWS, *DOCS)
    return running


@pytest.fixture(scope="module")
def shares(service: InProcessService) -> Mapping[str, SharedDashboard]:
    return {name: opened(service, filters=filters) for name, filters in FIXED.items()}


@pytest.fixture(scope="module")
def docs(service: InProcessService) -> SharedDashboard:
    return opened(service, filters=[ON_DOCS])


def parameter(query_type: QueryType) -> dict[str, Any]:
    own = msgspec.to_builtins(query_type.example) if query_type.example else {}
    return {"name": query_type.name, **EXAMPLES.get(query_type.name, own)}


def outcome(reply: Reply) -> Any:
    """Rows or error of the one query, or the error of the request."""
    if reply.status != 200:
        return reply.json["code"], reply.json["error"]
    [entry] = reply.json["data"]
    return entry["data"] if entry["success"] else (entry["code"], entry["error"])


@pytest.mark.parametrize(
    "name",
    ["path", *(pytest.param(n, marks=pytest.mark.long) for n in ("behavior", "visit", "group"))],
)
def test_a_share_equals_a_key_with_the_fixed_filters(
    service: InProcessService,
    shares: Mapping[str, SharedDashboard],
    subtests: pytest.Subtests,
    name: str,
) -> None:
    for query_type in TYPES:
        with subtests.test(query_type.name):
            own: dict[str, Any] = {
                "filters": [{**ANY, "field": "country"}],
                "compare": "previous_year",
            }
            shared = outcome(shares[name].query(parameter(query_type), **own))
            if query_type.name not in SHARED_TYPES:
                assert shared[0] == "ACCESS_DENIED"
                continue
            both = {**own, "filters": [*own["filters"], *FIXED[name]]}
            by_key = outcome(service.query(parameter(query_type), **both))
            assert shared == by_key
            assert by_key[:1] != ("ACCESS_DENIED",)


def test_the_matrix_has_rows_that_the_filters_leave_out(
    service: InProcessService, shares: Mapping[str, SharedDashboard]
) -> None:
    asked = [t for t in TYPES if t.name in SHARED_TYPES]
    same = [
        t.name
        for t in asked
        if outcome(shares["path"].query(parameter(t))) == outcome(service.query(parameter(t)))
    ]

    assert len(same) < len(asked) / 3, same


def test_no_shared_type_has_rows_with_ids() -> None:
    for query_type in TYPES:
        rows = [query_type.row, *(nested.row for nested in query_type.listing.nested_lists)]
        names = {f.name for row in rows if row for f in msgspec.structs.fields(row)}
        if query_type.name in SHARED_TYPES:
            assert names.isdisjoint(IDS), query_type.name
            assert not query_type.required_filters
            assert not [
                name
                for name in query_type.statement(query_type.example).names
                if name.startswith("unfiltered_")
            ]


@pytest.mark.parametrize(
    "filters",
    [
        [],
        [{"or": [ANY, {"not": ANY}]}],
        [{"not": ON_DOCS}],
        [{"or": [FR, {"not": ON_DOCS}]}],
        [{"and": [{"or": [{"not": {"and": [ON_DOCS]}}, ANY]}]}],
        [FR],
    ],
)
def test_no_filter_of_a_caller_shows_other_pages(docs: SharedDashboard, filters: list[Any]) -> None:
    some: dict[str, Any] = {"filters": filters}
    none: dict[str, Any] = {}
    for body, own in ((some, none), (none, some)):
        names = ("top_pages", "session_pages", "summary_metrics")
        entries = docs.query(*({"name": n, **own} for n in names), **body).json["data"]
        assert all(entry["success"] for entry in entries), entries
        assert {row["name"] for row in entries[0]["data"]} <= {"/docs/a"}
        assert entries[2]["data"][0]["pageviews"] <= 3


ID_FIELDS = (
    "anonymous_id",
    "session_id",
    "event_id",
    "profile_id",
    "visitor.profile_id",
    "visitor.first_seen",
    "traits.email",
    "properties.plan",
    "event.anonymous_id",
    "visit.session_id",
    "ip",
)
STEP: Mapping[str, Any] = {"path": "/"}


def naming(field: str) -> list[dict[str, Any]]:
    """Filters that name a field, in every place that takes filters."""
    one = {"field": field, "operator": "is_not_null"}
    return [one, {"or": [ANY, {"not": one}]}, {"has_done": {"event": "a", "filters": [one]}}]


@pytest.mark.parametrize("field", ID_FIELDS)
def test_a_share_names_no_visitor_and_no_property(docs: SharedDashboard, field: str) -> None:
    for one in naming(field):
        step = {**STEP, "filters": [one]}
        replies = [
            docs.query("summary", filters=[one]),
            docs.query({"name": "summary", "filters": [one]}),
            docs.query({"name": "funnel", "steps": [STEP, step]}),
            docs.query({"name": "funnel", "steps": [STEP, STEP], "exclusions": [step]}),
            docs.query({"name": "funnel", "steps": [STEP, STEP], "breakdown": field}),
            docs.query({"name": "funnel_trend", "steps": [STEP, step]}),
            docs.query({"name": "goals", "goals": [step]}),
            docs.query({"name": "retention", "breakdown": field}),
            docs.query({"name": "retention", "returning": step}),
            docs.query({"name": "retention", "start": step, "cohort": "first_in_range"}),
            docs.metrics(metrics=["visits"], filters=[one]),
            docs.metrics(metrics=["conversions"], goals=[step]),
            docs.metrics(metrics=["visits"], dimensions=[field]),
        ]
        assert {outcome(reply)[0] for reply in replies} == {"ACCESS_DENIED"}


@pytest.mark.parametrize(
    "more",
    [
        {"filters": [{"has_done": {"path": "/private"}}]},
        {"filters": [{"not": {"has_not_done": {"path": "/private", "within": "ever"}}}]},
        {"filters": [{"segment": "All"}]},
        {"include_bots": True},
    ],
)
def test_a_share_looks_past_its_filters_nowhere(
    docs: SharedDashboard, more: Mapping[str, Any]
) -> None:
    assert outcome(docs.query("summary", **more))[0] == "ACCESS_DENIED"
    assert docs.metrics(metrics=["visitors"], **more).json["code"] == "ACCESS_DENIED"
    batch = [{"parameters": ["summary"], "preset": "last_7d", **more}]
    [result] = docs.ask("POST", "/v1/query?website_id=shop", batch).json["results"]
    assert (result["success"], result["code"]) == (False, "ACCESS_DENIED")


def test_no_warning_counts_what_a_share_hides(
    service: InProcessService, docs: SharedDashboard
) -> None:
    names = ("retention", "lifecycle", "stickiness", "active_visitors")
    new: dict[str, Any] = {"metrics": ["new_visitors"], "filters": [ON_DOCS]}

    def metas(reply: Reply) -> list[Any]:
        entries = reply.json["data"]
        assert all(entry["success"] for entry in entries), entries
        return [entry["meta"] for entry in entries]

    by_key = metas(service.query(*names, filters=[ON_DOCS]))
    assert [[each["count"] for each in meta["warnings"]] for meta in by_key] == [[2, 1]] * 4
    assert all("warnings" not in meta for meta in metas(docs.query(*names)))
    body = {**new, **NOVEMBER}
    counted = service.ask("POST", "/v1/query/metrics", body, website_id="shop").json["meta"]
    assert [each["count"] for each in counted["warnings"]] == [2]
    assert "warnings" not in docs.metrics(metrics=["new_visitors"]).json["meta"]


def test_what_is_saved_has_no_name_on_a_shared_dashboard(
    service: InProcessService, docs: SharedDashboard
) -> None:
    for kind, body in (("goals", {"event": "secret"}), ("segments", {"filters": [FR]})):
        created = {"name": "Acquired", **body}
        path = f"/v1/{kind}"
        assert service.ask("POST", path, created, key="acme-admin", website_id="shop").status == 201

    for asked in (
        {"name": "goals"},
        {"name": "goals", "goals": [{"goal": "Acquire"}]},
        {"name": "funnel", "steps": [STEP, {"goal": "Acquired"}]},
    ):
        code, message = outcome(docs.query(asked))
        assert code == "VALIDATION_ERROR"
        assert "did you mean" not in message
    assert docs.metrics(metrics=["conversions"]).status == 400


def test_errors_name_the_filters_of_the_caller(docs: SharedDashboard) -> None:
    code, message = outcome(docs.query("summary", filters=[ANY, {"field": "path"}]))

    assert (code, message.partition(".")[0]) == ("VALIDATION_ERROR", "'filters[1]")


def test_a_fixed_filter_is_never_left_out_of_another_table(service: InProcessService) -> None:
    of_errors = {"field": "error_type", "operator": "eq", "value": "T1"}
    share = Share(
        id="shr_a",
        organization_id="acme",
        website_id="shop",
        name="a",
        filters=(of_errors,),
        created_at=NOW,
        updated_at=NOW,
    )
    record, path = with_new_link(share)
    service.store.create(record)
    service.follower.refresh()
    dashboard = SharedDashboard(service=service, share={"path": path})
    dashboard.open()

    [row] = outcome(service.query("error_summary", filters=[of_errors]))
    assert row["totalErrors"] == 1
    code, message = outcome(dashboard.query("error_summary"))
    assert code == "VALIDATION_ERROR"
    assert "error_type" in message
