"""Traffic to cassettes: the stage that records what passes."""
