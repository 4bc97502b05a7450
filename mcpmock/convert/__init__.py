"""Cassettes to and from the formats of other tools: HAR, and the recordings of other recorders."""
