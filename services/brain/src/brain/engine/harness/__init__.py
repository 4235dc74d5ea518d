"""Harnesses: agent loops. They see the log, the model and the tools as Protocols only."""
