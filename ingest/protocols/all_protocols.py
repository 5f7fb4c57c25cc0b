"""PROTOCOLS: the products whose trackers the collector understands."""

from ingest.protocols.amplitude import AMPLITUDE
from ingest.protocols.ga4 import GA4
from ingest.protocols.matomo import MATOMO
from ingest.protocols.mixpanel import MIXPANEL
from ingest.protocols.protocol import Protocol
from ingest.protocols.segment import SEGMENT
from ingest.protocols.snowplow import SNOWPLOW

PROTOCOLS: tuple[Protocol, ...] = (
    AMPLITUDE,
    GA4,
    MATOMO,
    MIXPANEL,
    SEGMENT,
    SNOWPLOW,
)
