"""Hand-written answers in front of a recording: what was written (`script`), the results that the
protocol has for it (`results`), what a server says of itself (`catalog`), what it sends unasked
(`announcements`), and the stage (`stage`). `api.stub` is what users write with.
"""
