"""Fathom: its CSV of page views, a line for each combination of facts in each hour.

`visits` counts each visitor of the website once a day, `uniques` each visitor of a page.
"""

from deploy.importer.totals import totals_format as common
from deploy.importer.totals.totals_format import Split, TotalsFormat, parse_day

FORMAT = TotalsFormat(
    "Fathom",
    (frozenset(("pathname", "pageviews", "uniques", "visits")),),
    {"datetime": parse_day, "date": parse_day},
    {"visitors": ("visits",), "page_views": ("pageviews",)},
    {
        "hostname": (common.HOST,),
        "pathname": (
            Split("path", common.parse_path, {"visitors": "uniques", "page_views": "pageviews"}),
        ),
        "referrer_hostname": (Split("referrer_name", common.parse_source),),
        **common.TAGS,
        "country_code": (common.COUNTRY,),
        "state": (common.REGION,),
        "city": (common.CITY,),
        "device_type": (common.DEVICE,),
        "browser": (common.BROWSER,),
        "operating_system": (common.SYSTEM,),
    },
    others=frozenset(("referrer_pathname", "referrer")),
    has_sums=True,
    note="hours become days of the time zone that the export is in",
)
