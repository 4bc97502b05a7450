"""What the pytest plugin does once a test uses it. `pytest_plugin` has the hooks and fixtures, and
imports this only then.
"""
