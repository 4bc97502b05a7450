"""What a cassette becomes before it is played: planned messages, and what each waits for."""
