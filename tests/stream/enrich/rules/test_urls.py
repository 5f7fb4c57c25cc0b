"""URLs are split by hand."""

from stream.enrich.rules.urls import normal_path, query_parameters, split_url


def test_url_parts_are_cut_by_hand() -> None:
    assert normal_path("//a//b//") == "/a//b"
    assert normal_path("/u\u0308ber/e%CC%81") == normal_path("/%C3%BCber/é") == "/über/é"
    accented, parts = "e\u0301" * 128, ["é" * 128] * 7 + ["é" * 124 + "e"]
    assert normal_path(f"/a/{accented}e\u0301/") == f"/a/{accented}e\u0301"
    assert normal_path(f"/{accented}" * 20) == "/" + "/".join(parts)
    assert query_parameters("A=1&a=2&b=&=3&c") == {"a": "1"}
    assert (split_url("mailto:x@y.example").host, split_url("").path) == ("", "")
