"""Secrets out of what is recorded: names, formats, HTTP heads."""
