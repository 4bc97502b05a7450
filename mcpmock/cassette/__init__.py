"""The file that a recording is kept in: model, parser, writer, canonical form, validation and
merge.
Only `file` touches a disk.
"""
