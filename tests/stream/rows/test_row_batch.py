"""Facts that are computed once per sender or run are those of each row."""

from itertools import product

from schemas.envelope import Envelope
from schemas.kinds import CUSTOM_EVENT
from schemas.tables.events import CustomEvent
from stream.enrich.pipeline import run_pipeline
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import KEY_COLUMNS, RowBatch
from tests.stream.builders import CHROME, an_envelope

HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"accept-language": "de"},
    {"origin": "de"},  # the same value under another name
    {"accept-language": "de", "sec-ch-ua-platform": "fr"},
    {"accept-language": "fr", "sec-ch-ua-platform": "de"},
    {"origin": "https://a.example", "sec-ch-ua": '"HeadlessChrome";v="1"'},
)


def rows_of(envelopes: list[Envelope]) -> RowBatch:
    items = [CustomEvent(name="screen_view", path=f"/{n}") for n in range(len(envelopes))]
    keys = {name: list(range(len(envelopes))) for name in KEY_COLUMNS}
    return RowBatch(CUSTOM_EVENT, list(items), envelopes, keys)


def test_rows_are_enriched_together_as_each_alone() -> None:
    senders = product(HEADERS, (CHROME, "node", "Googlebot/2.1", ""), (False, True))
    envelopes = [
        an_envelope(headers=headers, user_agent=agent, trusted=trusted, subject_id=f"w{number}")
        for headers, agent, trusted in senders
        for number in (1, 2)
    ]
    envelopes += [envelopes[0], envelopes[0], envelopes[9]]
    together = rows_of(envelopes)
    run_pipeline(together, Lookups(domain_of=lambda website: f"{website}.example"))

    for index in range(len(envelopes)):
        alone = rows_of(envelopes).subset([index])
        run_pipeline(alone, Lookups(domain_of=lambda website: f"{website}.example"))
        assert alone.columns == {name: [together.columns[name][index]] for name in alone.columns}


def test_a_fact_is_computed_once_per_sender() -> None:
    envelopes = [
        an_envelope(user_agent=agent, subject_id=website)
        for agent in ("a", "b", "a")
        for website in ("w1", "w2")
    ]
    rows, asked = rows_of([*envelopes, envelopes[0]]), []

    def agent_of(envelope: Envelope) -> str:
        asked.append(envelope.user_agent)
        return envelope.user_agent.upper()

    assert rows.per_sender(agent_of) == ["A", "A", "B", "B", "A", "A", "A"]
    assert asked == ["a", "b"]
    assert [e.subject_id for e in rows.envelope_runs()] == ["w1", "w2"] * 3 + ["w1"]
