"""Many sessions at work while processes are killed, stopped and started; then all is checked.

Run it with `python -m brain_testing.chaos --help`; the same in small is part of the tests.
"""
