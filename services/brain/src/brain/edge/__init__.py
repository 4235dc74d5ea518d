"""The HTTP edge: authentication, JSON, problem documents and SSE in front of the engine.

Above: any HTTP client. Below: the engine's gRPC service, and only that. Holds no state that
outlives a request but the API keys it was given.
"""
