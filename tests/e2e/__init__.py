"""Real processes and pipes, real servers and clients."""
