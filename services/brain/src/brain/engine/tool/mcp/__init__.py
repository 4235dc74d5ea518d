"""Calling the tools of MCP servers. Above: `dispatch`, and `brain mcp discover`.

The official SDK speaks the protocol; it is imported by nothing outside of this package, so that an
engine without such a tool never loads it. Under the SDK is Brain's own HTTP, since what Brain
promises of a call must hold here, too: sent at most once, bounded, without redirects, through the
same proxies. From above:

    client -> session -> the SDK -> transport -> reply -> http_connection, http_response
"""
