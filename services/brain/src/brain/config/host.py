"""The host config file's shape and the defaults of all its fields. Above: `check`, the wiring.

Below: `bindings`, pydantic. What needs the environment, or other fields, is in `check`.
"""

import re
from ipaddress import IPv6Address
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from brain.config.bindings import STRICT, TenantId, ToolBinding, Variable, http_url, is_host_name
from brain.config.problem import as_object
from brain.config.providers import BUILT_IN, PROVIDERS, Api
from brain.config.store import store_problem

_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
_OWN_HEADERS = ("connection", "content-length", "content-type", "host", "transfer-encoding")


def split_listen(address: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; an IPv6 host stands in brackets. Raises: ValueError."""
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})", address)
    if match is None or int(match[3]) > 65_535 or not _is_host(match):
        raise ValueError("must be HOST:PORT, for example 127.0.0.1:8080")
    return match[1] or match[2], int(match[3])


def _is_host(match: re.Match[str]) -> bool:
    try:
        if match[1]:
            IPv6Address(match[1])
        return match[1] is not None or is_host_name(match[2])
    except ValueError:
        return False


def _listen(value: str) -> str:
    split_listen(value)
    return value


def _engine_listen(value: str) -> str:
    if not value.startswith("unix:"):
        try:
            split_listen(value)
        except ValueError:
            raise ValueError("must be unix:PATH or HOST:PORT") from None
    elif value == "unix:" or "\0" in value:
        raise ValueError("must name a path, for example unix:.brain/engine.sock")
    return value


def _file(value: str) -> str:
    if "\0" in value:
        raise ValueError("must name a file")
    return value


def _store(value: str) -> str:
    problem = store_problem(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def _base_url(value: str) -> str:
    return http_url(value).rstrip("/")


def _api_base(value: str) -> str:
    if "?" in value:
        raise ValueError("must not contain a query (?…), since paths are added to it")
    return _base_url(value)


def _header_name(value: str) -> str:
    if not _HEADER_NAME.fullmatch(value):
        raise ValueError("must be the name of an HTTP header, for example X-Team")
    if value.lower() in _OWN_HEADERS:
        raise ValueError("is a header that Brain sets itself")
    return value


def _header_value(value: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError("must be visible ASCII characters and single spaces between them")
    return value


def _provider(value: str) -> str:
    if not _PROVIDER.fullmatch(value):
        raise ValueError("must have lower-case letters, digits, '.', '_' or '-', and no '/'")
    if value == BUILT_IN:
        raise ValueError(f"{BUILT_IN!r} is built in and can't be configured")
    return value


EngineAddress = Annotated[str, AfterValidator(_engine_listen)]
FilePath = Annotated[str, Field(min_length=1), AfterValidator(_file)]


class EngineTlsConfig(BaseModel):
    """Files in PEM: engines need certificate and key, edges what they trust.

    `name` is the name in the engines' certificates, if it isn't that in their addresses.
    """

    model_config = STRICT

    certificate_file: FilePath | None = None
    key_file: FilePath | None = None
    authority_file: FilePath | None = None
    name: str | None = None


class EngineConfig(BaseModel):
    """Where the engine listens, and the variable with the key that callers need.

    Edges connect to `connect`, or else to `listen`. `advertise` is where edges find this very
    engine among others.
    """

    model_config = STRICT

    listen: EngineAddress = "unix:.brain/engine.sock"
    connect: Annotated[list[EngineAddress], Field(min_length=1)] | None = None
    advertise: EngineAddress | None = None
    key_env: Variable | None = None
    tls: EngineTlsConfig | None = None


class TenantConfig(BaseModel):
    """A tenant and the variables that hold its API keys."""

    model_config = STRICT

    id: TenantId
    api_keys_env: Annotated[list[Variable], Field(min_length=1)]


Dollars = Annotated[float, Field(ge=0)]
Tokens = Annotated[int, Field(gt=0)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
HeaderValue = Annotated[str, AfterValidator(_header_value)]


class ModelPrices(BaseModel):
    """US dollars for a million tokens. What has no price for the cache costs as input."""

    model_config = STRICT

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class LongModelPrices(ModelPrices):
    """Prices of a request that reads more tokens than `above`."""

    above: Tokens


class NamedModel(BaseModel):
    """What the operator knows of a model. What is left out is as in the table that ships."""

    model_config = STRICT

    context_window: Tokens | None = None
    max_output_tokens: Tokens | None = None
    prices: ModelPrices | None = None
    long_prices: LongModelPrices | None = None
    reasons: bool | None = None
    sees_images: bool | None = None
    thinking: Literal["adaptive", "budget"] | None = None


class ModelConfig(BaseModel):
    """A provider of models. What is left out is known for the providers in `providers`."""

    model_config = STRICT

    provider: Annotated[str, AfterValidator(_provider)]
    api: Api
    base_url: Annotated[str, AfterValidator(_api_base)]
    api_key_env: Variable | None = None
    headers: dict[HeaderName, HeaderValue] = {}
    models: dict[str, NamedModel] = {}

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, value: object) -> object:
        given = as_object(value)
        known = PROVIDERS.get(str(given.get("provider"))) if given is not None else None
        return value if given is None or known is None else {**known._asdict(), **given}


class HostConfig(BaseModel):
    """The whole file. `models` is None if the file doesn't say: then it is what has a key.

    Once the file is checked, `store` is what counts, also where `store_env` names it.
    """

    model_config = STRICT

    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:8080"
    public_url: Annotated[str, AfterValidator(_base_url)] = "http://127.0.0.1:8080"
    store: Annotated[str, AfterValidator(_store), Field(repr=False)] = "sqlite:///.brain/brain.db"
    store_env: Variable | None = None
    engine: EngineConfig = EngineConfig()
    tenants: Annotated[list[TenantConfig], Field(min_length=1)] = [
        TenantConfig(id="local", api_keys_env=["BRAIN_API_KEY"])
    ]
    models: list[ModelConfig] | None = None
    tools: list[ToolBinding] = []
    shutdown_grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 20
    idle_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 120
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    metrics_listen: Annotated[str, AfterValidator(_listen)] | None = None
