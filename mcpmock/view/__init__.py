"""What people look at: timeline, summary, filter and statistics of a recording. Pure."""
