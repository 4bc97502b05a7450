"""A fake authorization server around a recording, so that a client's login is tested offline.

`options` is what a user says, `server` the authorization server, `stage` the protected resource:
who has no valid token gets no answer from the recording. Pure: clock, random ids and faults are
arguments. `sessions.http_front` stands above, `faults` and `protocol` below.
"""
