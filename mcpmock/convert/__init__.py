"""Cassettes to and from the formats of other tools: HAR, OTLP, recordings of other recorders."""
