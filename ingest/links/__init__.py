"""Short links: where they lead, the clicks that they leave, what programs and people are shown."""
