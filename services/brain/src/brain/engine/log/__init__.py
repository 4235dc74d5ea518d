"""The event log: one row for each durable event, behind one Protocol."""
