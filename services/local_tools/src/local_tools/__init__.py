"""The example tool server: a service that people copy from."""
