"""Storage and the web for agents, as a tool service. See `service`."""
