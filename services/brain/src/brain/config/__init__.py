"""The host config: its shape, its rules, and all of its problems at once."""
