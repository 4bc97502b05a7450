"""Cancellation races: the grid of orders in which a cancel and an answer can cross, and the fault
that steers a call to one cell of it.
"""
