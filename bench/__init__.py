"""What a session, a turn and a tool call cost, beside the floor of each.

Run it with `make bench`.
"""
