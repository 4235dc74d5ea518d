"""Stand-ins for providers of sandboxes: E2B, Modal and Daytona as their SDKs see them.

Above: tests of the sandbox service. Below: `machine`, a sandbox that is real. Each server speaks
its provider's protocol on loopback, runs commands as real processes, and fails as the provider does
when `faults` says so.
"""
