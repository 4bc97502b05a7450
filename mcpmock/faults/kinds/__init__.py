"""The kinds of fault, by theme."""
