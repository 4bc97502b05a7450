"""Streamable HTTP, both sides and all revisions, as pure state machines."""
