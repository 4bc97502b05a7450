"""The file of a recording: model, parser, writer, canonical form, validation and merge. Only `file`
touches a disk.
"""

FORMAT = 1
"""The version of the format that is written and read."""
HEADER_START = b'{"mcpmock":'
"""How every cassette begins, unless it is packed."""
