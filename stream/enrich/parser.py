"""The one user agent parser; its compiled rules take 30 MB, so they are shared."""

from ua_parser import Parser
from ua_parser.loaders import load_lazy_builtins
from ua_parser.regex import Resolver

PARSER = Parser(Resolver(load_lazy_builtins()))
