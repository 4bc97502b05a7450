"""HTTP/1.1 under trio, on both sides: a listener and a client that carry exchanges as frames."""
