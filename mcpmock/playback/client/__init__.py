"""The client half of a replay: the recorded client, played to a live server."""
