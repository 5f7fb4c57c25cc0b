"""Matomo: the visits log as a table; as JSON it is read by `visits_log.py`."""

from deploy.importer.formats.export_format import ExportFormat

FORMATS = (
    ExportFormat(
        "Matomo (visits log as a table)",
        frozenset(("idVisit", "visitorId")),
        refusal="its columns name no types of actions (actionDetails_0_type). Export it as JSON "
        "(method=Live.getLastVisitsDetails&format=JSON), and write one visit per line: "
        "jq -c '.[]' visits.json > visits.ndjson",
    ),
)
