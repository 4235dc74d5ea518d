"""Providers of models that need no more than their name in the host config. Above: `host`."""

from typing import Literal, NamedTuple

Api = Literal["openai-chat", "openai-responses", "anthropic-messages"]

BUILT_IN = "demo"
"""The provider that is always there and can't be configured."""


class Provider(NamedTuple):
    """Its wire format, where it is, and the variable that usually holds its key, if it has one."""

    api: Api
    base_url: str
    api_key_env: str | None


PROVIDERS = {
    # Its newer models call tools in this format only.
    "openai": Provider("openai-responses", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("anthropic-messages", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "google": Provider(
        "openai-chat",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
    "openrouter": Provider("openai-chat", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": Provider("openai-chat", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Provider("openai-chat", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": Provider("openai-chat", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": Provider("openai-chat", "https://api.x.ai/v1", "XAI_API_KEY"),
    "together": Provider("openai-chat", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": Provider(
        "openai-chat", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"
    ),
    "ollama": Provider("openai-chat", "http://127.0.0.1:11434/v1", None),
    "vllm": Provider("openai-chat", "http://127.0.0.1:8000/v1", None),
    "lmstudio": Provider("openai-chat", "http://127.0.0.1:1234/v1", None),
}
