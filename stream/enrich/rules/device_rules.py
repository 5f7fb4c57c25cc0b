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

INCHES = "(?:19|2[2-468]|3[29]|4[023589]|5[058]|6[0-5]|7[057]|8[2-6]|98|100)"
"""Sizes of TVs, with which their models begin: `43LU8010T`, `LT-50VU8`."""

DEVICE_RULES = (
    (
        "console",
        r"((?i:PlayStation)|\bPS[2345]\b|(?i:\bXBOX)|Nintendo|SteamDeck|Steam ?(?:Deck"
        r"|GameOverlay)"
        r"|Retroid|\bRG(?:35XX|40[56]|505|556|CUBE)|(?i:GAME ?PAD)|\bOUYA|; Switch(?: Lite"
        r"| OLED)?[);]|Razer Edge"
        r"|SEGA|\bJXD|\bAYN |Logitech G Cloud|GPD XD)",
    ),
    (
        "watch",
        r"(\bWatch ?OS|Wear ?OS|\bSM-R\d{3}|(?i:\w*watch\b)|\bMoto 360|\bWIB/|\bGear S\d?\b"
        r"|\bLE[OM](?:-[BD]|\d\d)|\bTHOR (?:PRO|S|\d))",
    ),
    (
        "headset",
        r"(OculusBrowser|\bQuest(?: (?:Pro|[2-9]S?))?(?: Build|[);])|(?i:\bPico ?(?:Neo"
        r"|G?\d))|Mobile VR\b|VR Safari|; VR-|HoloLens|Wolvic"
        r"|\bVision ?Pro\b|\bGlass \d)",
    ),
    (
        "car",
        r"(\bTesla/|QtCarBrowser|Automotive|(?i:\bcar ?(?:pad|play)?\b|carpad|\bKZCAR)|\bMPC-\d"
        r"|\bYT\d{4}[A-Z]{0,2}[);]|(?:QUAD|OCTA|OCTOPUS)-CORE|(?:Quad|Ultra)-?(?:Core-|Octa-)"
        r"|\bks\d{3,4}x\d|(?i:\b(?:audi|benz|bmw)_)|Polestar|Porsche|BYD AUTO|\bDiLink"
        r"|\bSDA-\d+TAB|\bF9212|\b8227L|\bAFTL[BF]T962|\bAIVI-|\bDUDU\d)",
    ),
    ("desktop", r"(Tablet PC)"),  # Windows with a pen
    ("mobile", r"(Tizen).*(?:Mobile|SM-)"),
    ("mobile", r"(\bHTV3\d|\bSTV100|\bRunbo|\bLetv |(?i:coolpad|tech ?pad))"),  # phones
    ("tablet", r"\b(BNTV\d|BTV-|GTKIDS|HITV\d)"),
    ("desktop", r"Android.*(Chromebook|Pixelbook)"),
    ("mobile", r"(DTV).*Mobile"),  # that receive television
    (
        "tv",
        r"(\bTV\b|(?i:Smart-?TV|HbbTV|NETTV|CE-HTML|Inettv|Opera TV)|GoogleTV|AndroidTV"
        r"|AppleTV|Web0S"
        r"|NetCast|BRAVIA|\bAFT[A-Z]|CrKey|Chromecast|Roku|VIDAA|(?i:Vizio)|Viera|MiTV"
        r"|(?i:MIBOX)|Tizen"
        r"|BrightSign|\bMB\d{2,3}/|stbapp|avui/tv|AQUOS-TV| Shell [A-Z]*\d|\bNEO-X\d|POLAR_?L"
        r"|\bOMI/|TiVo|T-?browser|VSTVB|Vestel-|tclwebkit|Panasonic\.bd|\bMaple ?\d|Espial"
        r"|Ekioh|\bSRAF\b|Sraf/|\bSTB\b|Galio|Whale ?TV|TV ?Bro|\bA95X|\b[HTX]9[56][A-Z ]|\bMXQ"
        r"|GTKing|\bGTK|UGOOS|(?i:MECOOL|Beelink|Rombica|Formuler|Vontar|Tanix|Zidoo|\bDune ?HD"
        r"|Skyworth|MyGica|Yundoo|VORKE|TranSpeed)|\bHK1|\bTX\d ?(?i:mini|pro)|\bDVB|IPTV"
        r"|(?i:[O Q]LED))",
    ),
    (
        "tv",
        r"Android [0-9.]+; (?:[a-z]{2}-[a-z]{2}; )?([^;)]*(?i:TV(?:[^a-z]|$)|\bbox\b"
        r"|[a-z]box\d?\b"
        r"|\b4K\b|UHD|[-_ ]LED\d))",
    ),
    (
        "tv",
        r"Android [0-9.]+; (?:[A-Z]{1,8}[-_ ]?)?"
        rf"({INCHES}(?:[A-Z]{{1,6}}[-_]?\d|[A-Z]{{3,6}}\b)\w*)",
    ),
    ("tablet", r"(iPad|Tablet|PlayBook|Kindle|\bKF[A-Z]{2,})"),
    (
        "tablet",
        r"Android.*((?i:\btab\b|\btab[-_ ]?\d|[a-z]*pad\b)|\bSM-[TXP]\d{3}|\bGT-P\d{4}"
        r"|Lenovo (?:TB|YT)"
        r"|\bTB-?[X\d]\d{2})",
    ),
    (
        "mobile",
        r"((?i:mobi)|iPhone|iPod|Opera Mini|Windows Phone|BlackBerry|BB10|KAIOS|Symbian|MIDP"
        r"|Phone;"
        r"|Windows CE|UP\.Browser|J2ME|\bBrew\b|WAP|Obigo|DoCoMo|\bWebOS/|SymbOS|MAUI|UCWEB"
        r"|Lumia|WPDesktop|WP7)",
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
