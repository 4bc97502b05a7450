"""The ends of a conversation under trio: stdio, child processes, HTTP and memory, as channels of
frames."""
