"""Plausible: the ten files `imported_*.csv` of its export, one by one or as the zip file of them.

`imported_pages` has for each page the visits that saw it, so that they add up for no host.
"""

from deploy.importer.totals import totals_format as common
from deploy.importer.totals.totals_format import Split, TotalsFormat, parse_day

FORMAT = TotalsFormat(
    "Plausible",
    tuple(
        frozenset(("visitors", count))
        for count in ("pageviews", "events", "visits", "entrances", "exits")
    ),
    {"date": parse_day},
    {
        "visitors": ("visitors",),
        "visits": ("visits", "entrances", "exits"),
        "page_views": ("pageviews",),
        "bounces": ("bounces",),
        "visit_seconds": ("visit_duration",),
        "events": ("events",),
    },
    {
        "hostname": (Split("host", common.parse_host, {"page_views": "pageviews"}),),
        "page": (common.PATH,),
        "entry_page": (common.ENTRY_PAGE,),
        "exit_page": (common.EXIT_PAGE,),
        "source": (common.SOURCE,),
        "referrer": (common.REFERRER,),
        **common.TAGS,
        "name": (common.EVENT_NAME,),
        "country": (common.COUNTRY,),
        "region": (common.REGION,),
        "city": (common.CITY,),
        "device": (common.DEVICE,),
        "browser": (common.BROWSER,),
        "browser_version": (common.BROWSER_VERSION,),
        "operating_system": (common.SYSTEM,),
        "operating_system_version": (common.SYSTEM_VERSION,),
    },
    others=frozenset(("link_url", "path")),
    note="regions are ISO 3166-2 codes; cities are ids of GeoNames, and are left out",
)
