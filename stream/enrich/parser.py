"""The published rules for browsers and systems, compiled once; they take 20 MB, so they are shared.

Device rules are left out: they tell brands and models, `devices.py` tells classes.
"""

from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

_browsers, _systems, _ = load_lazy_builtins()
PARSER = Resolver((_browsers, _systems, []))
