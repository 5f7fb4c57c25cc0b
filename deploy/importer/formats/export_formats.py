"""Exports of other products that need more than a name per column.

The structures are those that the products document or define in their sources; one file per
product beside this file.
"""

from functools import lru_cache

from deploy.importer.formats import (
    access_log,
    amplitude,
    databuddy,
    fathom,
    goatcounter,
    google_analytics,
    heap,
    jitsu_classic,
    matomo,
    mixpanel,
    openpanel,
    plausible,
    posthog,
    rybbit,
    segment,
    simple_analytics,
    snowplow,
    swetrix,
    umami,
    vercel,
    zaraz,
)
from deploy.importer.formats.export_format import ExportFormat


@lru_cache(maxsize=1024)
def format_of(columns: tuple[str, ...]) -> ExportFormat | None:
    """The format with these columns."""
    names = frozenset(columns)
    return next((format_ for format_ in EXPORT_FORMATS if format_.matches(names)), None)


EXPORT_FORMATS: tuple[ExportFormat, ...] = (
    *posthog.FORMATS,
    *google_analytics.FORMATS,
    *umami.FORMATS,
    *plausible.FORMATS,
    *goatcounter.FORMATS,
    *amplitude.FORMATS,
    *databuddy.FORMATS,
    *fathom.FORMATS,
    *heap.FORMATS,
    *jitsu_classic.FORMATS,
    *matomo.FORMATS,
    *mixpanel.FORMATS,
    *openpanel.FORMATS,
    *rybbit.FORMATS,
    *segment.FORMATS,
    *simple_analytics.FORMATS,
    *snowplow.FORMATS,
    *access_log.FORMATS,
    *swetrix.FORMATS,
    *vercel.FORMATS,
    *zaraz.FORMATS,
)
"""The first that matches is the format of a line."""
