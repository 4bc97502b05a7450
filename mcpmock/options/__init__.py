"""The options of mcpmock, in tables: an `OptionTable` for each subject, and in it a field for each
option, with its type, its default and its help.

The command line, the Python API, the marker of the pytest plugin and the manual take names, choices
and defaults from here. What the options do is said elsewhere: `cli`, `api` and `testing` stand
above, and `playback` takes the words that it understands from here.
"""
