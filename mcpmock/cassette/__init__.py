"""The file of a recording: model, parser, writer, canonical form, validation and merge. Only `file`
touches a disk.
"""
