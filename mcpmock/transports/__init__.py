"""The left wing's pure half: bytes to frames and back. No IO, no clock, no recordings."""
