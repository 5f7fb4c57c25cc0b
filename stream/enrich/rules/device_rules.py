"""The device type, by ordered patterns over user agent and model; the first match decides.

Without a match there is no device type. A Mac may be an iPad, which sends the same user agent.
"""

import re

from stream.enrich.rules.client_hints import ClientHints
from stream.enrich.rules.user_agent_parser import PatternRules

FORM_FACTORS = {
    "Watch": "watch",
    "XR": "headset",
    "Automotive": "car",
    "Tablet": "tablet",
    "EInk": "tablet",
    "Mobile": "mobile",
    "Desktop": "desktop",
}
"""Device types by form factor as `Sec-CH-UA-Form-Factors` names them."""

DEVICE_RULES = (
    ("console", r"(PlayStation|\bXbox\b|Nintendo)"),
    ("watch", r"(\bWatch ?OS|Apple ?Watch|Wear ?OS|Galaxy Watch|\bSM-R\d{3})"),
    ("headset", r"(OculusBrowser|\bQuest\b|\bPico ?(?:Neo|\d)|\bVR\b|HoloLens|Wolvic)"),
    ("car", r"(\bTesla/|QtCarBrowser|Automotive)"),
    ("desktop", r"(Tablet PC)"),  # Windows with a pen
    ("mobile", r"(Tizen).*(?:Mobile|SM-)"),
    (
        "tv",
        r"(\bTV\b|SmartTV|SMART-TV|HbbTV|GoogleTV|AndroidTV|AppleTV|Web0S|NetCast|BRAVIA"
        r"|\bAFT[A-Z]|CrKey|Chromecast|Roku|VIDAA|Vizio|Viera|MiTV|MIBOX|Tizen)",
    ),
    ("tablet", r"(iPad|Tablet|PlayBook|Kindle|\bKF[A-Z]{2,})"),
    (
        "mobile",
        r"(Mobi|iPhone|iPod|Opera Mini|Windows Phone|BlackBerry|BB10|KAIOS|Symbian|MIDP|Phone;)",
    ),
    ("tablet", r"^Mozilla.*\b(Android)"),  # the user agents without `Mobile`
    ("mobile", r"^(Dalvik).*Android"),
    ("desktop", r"(Windows NT|Windows 9|Macintosh|X11|CrOS|Linux (?:x86_64|i686|aarch64))"),
)

_rules = PatternRules(DEVICE_RULES)
_APPLE_MOBILE = re.compile(r"(?:CriOS|FxiOS|EdgiOS|OPT|GSA)/")


def device_type(text: str, hints: ClientHints) -> str | None:
    """desktop, mobile, tablet, tv, console, watch, headset or car; None without evidence."""
    if hints.form_factors:
        types = [name for form, name in FORM_FACTORS.items() if f'"{form}"' in hints.form_factors]
        if types:
            return types[0]
    if "Macintosh" in text and _APPLE_MOBILE.search(text):
        return None  # an iPad, or an iPhone that requested the desktop page
    match = _rules.first_match(f"{text} {hints.model}")
    name = match[0] if match else None
    return "mobile" if hints.mobile and name in (None, "desktop") else name
