"""The other half: the recorded client played to a live server."""
