"""A run as a table for people and as JSON for machines. Above: `__main__`. Below: `result`."""

from collections.abc import Iterator, Mapping

from bench.meter import Meter
from bench.plan import Plan
from bench.result import MARK, Result

Json = dict[str, object]
_WIDTHS = (30, 9, 9, 11, 13)


def table(plan: Plan, result: Result) -> str:
    """The run as a readable table."""
    return "\n".join(
        [*_alone(plan, result), "", *_together(plan, result), "", *_verdict(plan, result)]
    )


def document(plan: Plan, result: Result) -> Json:
    """The run as JSON: times in milliseconds, CPU by process in milliseconds each."""
    return {
        "floors": {name: _figures(meter) for name, meter in _floors(result).items()},
        "alone": {name: _figures(meter) for name, meter in _works(result).items()},
        "cpu_per_delta_ms": _in_ms(result.cpu_per_delta()),
        "together": {
            "sessions": plan.sessions,
            "text_turns_per_second": result.text_rate,
            "text_turn": _figures(result.busy_text),
            "tool_turns_per_second": result.tool_rate,
            "tool_turn": _figures(result.busy_tool),
        },
        "bytes_per_idle_session": result.idle_bytes,
        "seconds_to_ready": result.starts,
        "text_turn_to_floors": result.ratio,
    }


def _alone(plan: Plan, result: Result) -> Iterator[str]:
    yield _row("one at a time, ms", "p50", "p99", "CPU edge", "CPU engine")
    for name, meter in _works(result).items():
        cpu = _in_ms(meter.cpu_each())
        yield _times(name, meter, *(f"{cpu[role]:.2f}" for role in cpu))
    delta = _in_ms(result.cpu_per_delta()).values()
    yield _row(f"a delta, {plan.words} in an answer", "", "", *(f"{cpu:.4f}" for cpu in delta))
    yield ""
    yield _row("the floors, ms", "p50", "p99", "CPU")
    for name, meter in _floors(result).items():
        yield _times(name, meter, f"{sum(meter.cpu_each().values()) * 1000:.2f}")
    yield _row("their sum", f"{result.floor_seconds * 1000:.2f}")


def _together(plan: Plan, result: Result) -> Iterator[str]:
    yield _row(f"{plan.sessions} sessions at once, ms", "p50", "p99", "CPU edge", "CPU engine")
    for name, rate, meter in (
        ("text turn", result.text_rate, result.busy_text),
        ("tool turn", result.tool_rate, result.busy_tool),
    ):
        cpu = _in_ms(meter.cpu_each()).values()
        yield _times(f"{name}, {rate:.0f}/s", meter, *(f"{each:.2f}" for each in cpu))


def _verdict(plan: Plan, result: Result) -> Iterator[str]:
    kib = {name: size / 1024 for name, size in result.idle_bytes.items()}
    sizes = " + ".join(f"{size:.1f} KiB ({name})" for name, size in kib.items())
    yield f"an idle session, of {plan.idle_sessions}: {sizes}"
    yield f"start to ready: {result.start_seconds:.2f} s"
    met = "within" if result.ratio <= MARK else "over"
    ratio = f"{result.ratio:.2f} times the sum of its floors"
    yield f"a text turn is {ratio}, {met} the mark of {MARK:g}"


def _works(result: Result) -> dict[str, Meter]:
    return {
        "session create": result.create,
        "text turn": result.text,
        "  to its first delta": result.first_delta,
        "tool turn": result.tool,
    }


def _floors(result: Result) -> dict[str, Meter]:
    return {
        "bare FastAPI POST": result.floors.post,
        "bare gRPC call, Unix socket": result.floors.grpc,
        "bare SQLite commit": result.floors.commit,
    }


def _figures(meter: Meter) -> Json:
    return {
        "count": len(meter.seconds),
        "p50_ms": meter.percentile(50) * 1000,
        "p99_ms": meter.percentile(99) * 1000,
        "cpu_ms": _in_ms(meter.cpu_each()),
    }


def _in_ms(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: value * 1000 for name, value in seconds.items()}


def _times(name: str, meter: Meter, *more: str) -> str:
    p50, p99 = (f"{meter.percentile(percent) * 1000:.2f}" for percent in (50, 99))
    return _row(name, p50, p99, *more)


def _row(name: str, *cells: str) -> str:
    first, *rest = _WIDTHS
    padded = (f"{cell:>{width}}" for cell, width in zip(cells, rest, strict=False))
    return f"{name:<{first}}{''.join(padded)}".rstrip()
