"""Servers written by hand: what users write with (`builder`), what was written (`script`), the call
that a function sees (`call`), the results that the protocol has for an answer (`results`), what a
server says of itself (`catalog`) and sends unasked (`announcements`). `server` plays it alone,
`stage` in front of a recording.
"""
