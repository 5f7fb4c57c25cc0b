"""PROTOCOLS: the products whose trackers the collector understands."""

from ingest.protocols.amplitude import AMPLITUDE
from ingest.protocols.cloudevents import CLOUDEVENTS
from ingest.protocols.ga4 import GA4
from ingest.protocols.jitsu import JITSU
from ingest.protocols.matomo import MATOMO
from ingest.protocols.mixpanel import MIXPANEL
from ingest.protocols.openpanel import OPENPANEL
from ingest.protocols.otlp import OTLP
from ingest.protocols.plausible import PLAUSIBLE
from ingest.protocols.posthog import POSTHOG
from ingest.protocols.protocol import Protocol
from ingest.protocols.rudderstack import RUDDERSTACK
from ingest.protocols.segment import SEGMENT
from ingest.protocols.snowplow import SNOWPLOW
from ingest.protocols.swetrix import SWETRIX
from ingest.protocols.umami import UMAMI
from ingest.protocols.vercel import VERCEL

PROTOCOLS: tuple[Protocol, ...] = (
    AMPLITUDE,
    CLOUDEVENTS,
    GA4,
    JITSU,
    MATOMO,
    MIXPANEL,
    OPENPANEL,
    OTLP,
    PLAUSIBLE,
    POSTHOG,
    RUDDERSTACK,
    SEGMENT,
    SNOWPLOW,
    SWETRIX,
    UMAMI,
    VERCEL,
)
