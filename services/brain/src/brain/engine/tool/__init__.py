"""Tool calls: from the name that the model wrote to one result, sent at most once."""
