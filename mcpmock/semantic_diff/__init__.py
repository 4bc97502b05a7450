"""Two recordings compared by what they mean. Named `semantic_diff` because `mcpmock.diff` is the
function that users call.
"""
