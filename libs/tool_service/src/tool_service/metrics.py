"""What a service counts, for Prometheus. Above: `answer`, `serve`. Below: prometheus_client.

A label is a tool's name or one of a few words, never anything that a model or a tenant wrote.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_SECONDS = (0.01, 0.05, 0.25, 1, 5, 30, 120, 600, 3600)


class Metrics:
    """The calls of one service. A service adds its own metrics to `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.running = Gauge(
            "tool_calls_running", "Calls that run now.", ["tool"], registry=self.registry
        )
        self.seconds = Histogram(
            "tool_call_seconds",
            "How long calls took, by outcome: ok, error, unknown, cancelled.",
            ["tool", "outcome"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.refused = Counter(
            "tool_calls_refused",
            "Requests that were no call to run, by reason.",
            ["reason"],
            registry=self.registry,
        )

    def app(self) -> Starlette:
        """`GET /metrics`, to be served at an address of its own."""
        return Starlette(routes=[Route("/metrics", self._metrics, methods=["GET"])])

    def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)
