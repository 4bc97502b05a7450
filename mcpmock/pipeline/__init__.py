"""`Stage` and `Pipeline`. Pure: the clock is an argument, and nothing is awaited."""
