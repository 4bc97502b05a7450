"""The right wing's behaviour: what happens to frames on their way. Pure: the clock is an argument,
nothing is awaited.
"""
