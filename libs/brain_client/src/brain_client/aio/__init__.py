"""The asynchronous client. `sync` is made from it by `make sync-client`: change it here."""
