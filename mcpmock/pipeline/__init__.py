"""What frames pass on their way: `Stage`, `Pipeline`, and the reassembly of fragments. Pure: the
clock is an argument, nothing is awaited.
"""
