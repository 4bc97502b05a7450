"""The rules of the protocol by revision: values that cite the specification, and the functions
that check traffic against them. `rules.checker` is the entry point.
"""
