"""What to do about a turn that failed, by its code. Above: `say`. Below: nothing.

The message that comes with the code says what happened; this says what helps.
"""

ADVICE = {
    "auth_failed": "Check the key in the variable that the host config names for this provider, "
    "and start Brain again.",
    "quota_exceeded": "Add credit at the provider, or choose another --model.",
    "model_not_found": "Check the name: --model takes provider/model, as the provider writes it.",
    "model_unavailable": "Choose another --model, or configure its provider.",
    "context_overflow": "Start a new chat, or set the model's context_window in the host config.",
    "rate_limited": "Wait a while, then say it again.",
    "overloaded": "Wait a while, then say it again.",
    "provider_error": "Say it again; if that goes on, look at the provider's status page.",
    "connection_failed": "Check the provider's base_url in the host config, and that it runs.",
    "connection_lost": "Say it again.",
    "idle_timeout": "Say it again, or raise idle_timeout_seconds in the host config.",
    "bad_stream": "Check the provider's api and base_url in the host config.",
    "content_refused": "Say it in another way.",
    "bad_summary": "Say it again, or start a new chat.",
    "recovery_limit": "Say it again.",
}


def advice(code: str) -> str:
    """A sentence, or nothing where nothing is known to help."""
    return ADVICE.get(code, "")
