"""Sessions played through with a model, tools, a clock and a log that do only what they are told.

Above: property tests. Below: the engine's own session, harness and SQLite log. Nothing happens
between two moves but what the moves ask for, so that the same plan always makes the same log.
"""
