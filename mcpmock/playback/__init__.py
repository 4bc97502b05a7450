"""Replay: a recorded server played to a live client, and (`client`) the other way round.

`plan` makes a plan of a cassette. `player` is the stage; per live session it has `candidates` with
their `matcher`, `schedule` and `live_ids`. `session_selection` is shared by all sessions of a
cassette. `passthrough` puts a real server behind the player.
"""
