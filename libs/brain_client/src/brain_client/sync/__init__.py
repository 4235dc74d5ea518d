"""The synchronous client, made from `aio` by `make sync-client`: change it there."""
