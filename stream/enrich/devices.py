"""The class of a device: an ordered list of rules over user agent and model, and the first decides.

A class is said only when something tells it: a program that names neither browser nor device has
none. A Mac may be an iPad, which by itself names the same agent.
"""

import re

from stream.enrich.hints import Hints

FORMS = {
    "Watch": "watch",
    "XR": "headset",
    "Automotive": "car",
    "Tablet": "tablet",
    "EInk": "tablet",
    "Mobile": "mobile",
    "Desktop": "desktop",
}
"""Classes by form factor as `Sec-CH-UA-Form-Factors` names them."""

RULES = (
    ("console", r"PlayStation|\bXbox\b|Nintendo"),
    ("watch", r"\bWatch ?OS|Apple ?Watch|Wear ?OS|Galaxy Watch|\bSM-R\d{3}"),
    ("headset", r"OculusBrowser|\bQuest\b|\bPico ?(?:Neo|\d)|\bVR\b|HoloLens|Wolvic"),
    ("car", r"\bTesla/|QtCarBrowser|Automotive"),
    (
        "tv",
        r"\bTV\b|SmartTV|SMART-TV|HbbTV|GoogleTV|AndroidTV|AppleTV|Web0S|NetCast|BRAVIA|\bAFT[A-Z]"
        r"|CrKey|Chromecast|Roku|VIDAA|Vizio|Viera|MiTV|MIBOX|Tizen(?!.*(?:Mobile|SM-))",
    ),
    (
        "tablet",
        r"iPad|Tablet(?! PC)|PlayBook|Kindle|\bKF[A-Z]{2,}"
        r"|^Mozilla(?!.*Mobi).*\bAndroid",
    ),
    (
        "mobile",
        r"Mobi|iPhone|iPod|Opera Mini|Windows Phone|BlackBerry|BB10|KAIOS|Symbian|MIDP|Phone;"
        r"|^Dalvik.*Android",
    ),
    ("desktop", r"Windows NT|Windows 9|Macintosh|X11|CrOS|Linux (?:x86_64|i686|aarch64)"),
)

_RULES = [(name, re.compile(rule)) for name, rule in RULES]
_APPLE_MOBILE_ON_MAC = re.compile(r"Macintosh.*(?:CriOS|FxiOS|EdgiOS|OPT|GSA)/")


def device_type(text: str, hints: Hints) -> str | None:
    """desktop, mobile, tablet, tv, console, watch, headset or car; None when nothing tells it."""
    for form, name in FORMS.items():
        if f'"{form}"' in hints.forms:
            return name
    if _APPLE_MOBILE_ON_MAC.search(text):
        return None  # an iPad, or an iPhone that asked for the desktop page
    told = f"{text} {hints.model}"
    found = next((name for name, rule in _RULES if rule.search(told)), None)
    return "mobile" if hints.mobile and found in (None, "desktop") else found
