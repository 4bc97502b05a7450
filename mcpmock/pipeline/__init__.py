"""What frames pass on their way: `Stage` and `Pipeline`. Pure: the clock is an argument, nothing is
awaited.
"""
