"""The demo: a website that a first start creates, and a believable week of its traffic."""

from deploy.local.demo.first import first_start, send_week
from deploy.local.demo.question import question
from deploy.local.demo.records import Demo, read_demo
from deploy.local.demo.sending import NotSent

__all__ = ["Demo", "NotSent", "first_start", "question", "read_demo", "send_week"]
