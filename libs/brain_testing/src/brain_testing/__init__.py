"""Scripted peers and a running Brain, for tests: real HTTP, real gRPC, a real log, nothing mocked.

Above: every test folder. Below: the product itself.
"""
