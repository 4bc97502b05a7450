"""Tests of the room `explore`."""
