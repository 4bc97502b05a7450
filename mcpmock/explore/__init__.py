"""Explore: the variants of a recorded session, and what breaks in one. Pure: `sessions` runs them.

    recorded_call  the calls of a session, with all that belongs to them
    variant        one variant: another order, a shorter session, faults
    enumeration    all variants of a session, in a fixed order; seeded pairs of them
    arrangement    what a variant makes of the recorded events
    disconnects    during a run: what the server owes; connections that the client loses
    oracles        after a run: what must hold of a server; `client_oracles`: of a client
    shrink         the smallest variant that breaks the same
    results        rows, failures and the summary, as values

Below stand `trials`, `faults`, `playback` and `rules`; above, `sessions.explore` and the faces.
"""
