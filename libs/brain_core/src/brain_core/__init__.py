"""Brain's vocabulary: ids, content, usage, sessions, events, clock, trace context.

Above: everything of ours. Below: nothing of ours. Only pure values live here.
"""
