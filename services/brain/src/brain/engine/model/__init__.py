"""Models: one adapter for each wire format, behind one Protocol."""
