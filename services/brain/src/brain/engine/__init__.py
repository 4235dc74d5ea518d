"""The engine: sessions, the agent loop, tool calls and the log, behind gRPC."""
