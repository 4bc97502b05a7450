"""The configuration files of MCP clients: where they are, which servers they name, and how a
recorder is put in front of one and taken out again.

`clients` is the table of clients, `jsonc` and `toml` find the places of values in a text, `entry`
says what an entry starts, `edit` changes it, `masked_diff` shows the change, `launch` is for
clients that take their servers as options. All of that is pure. `files` touches the disk, alone.
Below: `redaction`, for what is shown, and `cassette.file`, for how a file is replaced. Above:
`mcpmock wrap`, `unwrap` and `run`.
"""
