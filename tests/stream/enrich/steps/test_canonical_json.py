"""Free-form objects are stored as one text for each meaning."""

import pytest
from msgspec import Raw

from stream.enrich.steps.tracker_fields import canonical_json


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ('{"a": [1, true, null], "b": {}}', '{"a":[1,true,null],"b":{}}'),
        ('{"a":1,"b":2,"a":{"c":1,"c":[3,4]}}', '{"a":{"c":[3,4]},"b":2}'),
        ('{"a":[12,12.0,1.2e1,120e-1,-0.0,-0]}', '{"a":[12,12,12,12,0,0]}'),
        ('{"a":[1.50,0.1,1E-7,1e300]}', '{"a":[1.5,0.1,1e-7,1e300]}'),
        ('{"a":[9007199254740993,-9223372036854775808]}', None),
        ('{"a":["12.0","1e1","v1.20"]}', None),
        ('{"b":"\\u00e4 \\/ \\ud83d\\ude00","a":"\\"\\\\"}', '{"b":"ä / 😀","a":"\\"\\\\"}'),
        ('{"a":"\\u0000"}', None),
        ("{}", None),
        ("null", None),
        ('[{"a" : 1}]', '[{"a":1}]'),
    ],
)  # fmt: skip
def test_one_meaning_is_one_text(sent: str, stored: str | None) -> None:
    assert canonical_json(Raw(sent.encode())) == (sent if stored is None else stored)
