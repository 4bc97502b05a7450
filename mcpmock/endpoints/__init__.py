"""The left wing's IO: processes, our own stdio and memory as channels of frames. All of it
on trio.
"""
