"""The parts of `tools/bench.py`: what is measured (`rows`), by whom (`client`), with what."""
