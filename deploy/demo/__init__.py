"""Demo: a website with a week of generated traffic."""
