"""Removes secrets from recordings: by name, by format, and in HTTP heads."""
