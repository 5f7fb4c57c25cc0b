"""The demo: a website that a first start creates, and a believable week of its traffic."""
