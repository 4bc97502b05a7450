"""The right wing's memory: recordings, and the pure questions one can ask them. Only `file` touches
a disk.
"""
