"""Sessions: one actor each, the fold of its events, and its live readers."""
