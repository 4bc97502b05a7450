"""Trials: something is run again and again, each time with other changes, and each run is judged.
What is run, what is changed and what must hold, `explore` says; this room has the search and the
verdicts, without I/O, clocks and loops. `sessions` and `testing` run the trials.
"""
