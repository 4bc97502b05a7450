"""Work over many cassettes: which files are meant (`file_lists`), how one is read (`sources`), what
is done with it (`check`, `stats`, `scan`, `diff`), and who does it (`executors`): this process,
several processes, or the machines of a Dask cluster.

What is done is a function of a module. It is given names or bytes and returns values, which all can
be sent to another process.
"""
