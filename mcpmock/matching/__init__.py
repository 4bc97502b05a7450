"""What may differ between two messages that are to count as equal: the rules that users write.

Pure values. `playback` matches requests under these rules, `semantic_diff` compares under them.
"""
