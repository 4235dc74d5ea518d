"""Asking an operator: the tool, the inbox, the log of answers.

`tool` asks through the `desk`, which keeps requests in the `store` and tells the `feed`. Operators
answer at the desk by `routes`: on the page, by HTTP, or by the `command`.
"""
