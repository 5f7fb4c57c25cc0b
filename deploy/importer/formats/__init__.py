"""Exports of other products, one file each: how lines are recognized, and what they become."""
