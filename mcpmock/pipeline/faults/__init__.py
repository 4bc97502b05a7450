"""What goes wrong, on purpose: a plan of faults, and one small frozen class for each kind of them.

A fault's fields are the knobs that people turn, in a plan (TOML), on the command line and in
Python. `plan` and `structure` make faults of what was written, `match` says which messages one is
for, `engine` is the stage that lets them happen, `receipts` what is told of it. The kinds stand in
a module each; `kinds` names them all.
"""
