"""The one composition: every command, fixture and function of the Python API fills a `run.Setup`,
and `run.run_sessions` runs it.

A setup names where clients come from (a front: `stdio_front`, `http_front`, `local_front`, or the
recorded clients of `drive`), which server is reached (`servers`, `url_server`), what a cassette
answers (`replay`), and which faults, recording and observers take part. Below this room the code
never asks which command runs. A module is imported only where it is used: sessions over stdio
need no HTTP.
"""
