"""Brain: a self-hosted, multi-tenant server for AI agents."""
