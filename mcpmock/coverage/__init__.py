"""Which of what servers offer was used, by recordings or by the tests of a run.

`CoverageReader` takes messages and gives a `Coverage`; several add up. `view` shows it.
"""
