"""What each command is put together from: ends, stages, and how it ends.

Every mode is a composition: it fills three slots (client end, stages, server end) and hands them to
the runner. Nothing below this room asks which mode it is in. The faces (`cli/`, later the pytest
plugin) call the modes and turn the outcome into words. One module for each pair of ends, imported
only where it is used: what works over stdio does without HTTP.
"""
