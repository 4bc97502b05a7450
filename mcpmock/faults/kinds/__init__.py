"""The kinds of fault, a module for each theme. `registry` says which kind is in which theme: a
theme is imported when one of its kinds is first asked for.
"""
