"""Hand-written answers in front of a recording: what was written (`script`), how an answer is put
in the words of the protocol (`results`), what a server says of itself (`catalog`), and the stage
that does it (`stage`). `api.stub` is what users write with.
"""
