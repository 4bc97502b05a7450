"""The protocol's rules by revision: small values that cite the specification, and the watchers that
find what breaks them. `rules.checker` stands above.
"""
