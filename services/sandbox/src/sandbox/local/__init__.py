"""Sandboxes on this machine, by bubblewrap."""
