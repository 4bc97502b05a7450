"""A cassette played again. Named `playback` because `mcpmock.replay` is the function that users
call."""
