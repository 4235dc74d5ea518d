"""Making a session: what it may ask for, and its first event. Above: `manager`."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw, Struct

from brain.engine.harness.protocol import Harness
from brain.engine.log.protocol import SessionRecord, StoredEvent
from brain.engine.model.protocol import Models
from brain.engine.session.limits import config_violations
from brain.engine.session.refused import Refused, Violation
from brain.engine.tool.catalog import Catalog
from brain_core import events, ids
from brain_core.clock import Clock, rfc3339
from brain_core.events import Event, SessionCreated
from brain_core.session import SessionConfig, ToolSpec
from brain_core.usage import Usage


class NewSession(Struct, frozen=True):
    """A session that is about to be in the log."""

    record: SessionRecord
    first: StoredEvent


def as_made(record: SessionRecord) -> SessionRecord:
    """A session's record as it was before anything happened in it."""
    return msgspec.structs.replace(
        record,
        status="idle",
        open=False,
        updated_at=record.created_at,
        last_seq=1,
        usage=Usage(),
    )


class Creation:
    """Checks what a session asks for against what this server has."""

    def __init__(
        self, harnesses: Mapping[str, Harness], models: Models, catalog: Catalog, clock: Clock
    ) -> None:
        self._harnesses = harnesses
        self._models = models
        self._catalog = catalog
        self._clock = clock

    def make(
        self, tenant_id: str, harness: str, config: SessionConfig, metadata: Raw
    ) -> NewSession | Refused:
        """A new session with an id of its own, or every reason why there can't be one."""
        violations = tuple(self._violations(tenant_id, harness, config))
        if violations:
            return Refused("invalid", "invalid_session", "The session can't be made.", violations)
        created = SessionCreated(harness, config, metadata, self._pinned(tenant_id, config))
        now = rfc3339(self._clock.now())
        record = SessionRecord(
            id=ids.session_id(),
            tenant_id=tenant_id,
            harness=harness,
            config=config,
            metadata=metadata,
            status="idle",
            open=False,
            created_at=now,
            updated_at=now,
            last_seq=1,
            usage=Usage(),
        )
        event = Event(1, created.type, record.id, None, now, created)
        return NewSession(record, StoredEvent(1, created.type, events.encode(event)))

    def _violations(
        self, tenant_id: str, harness: str, config: SessionConfig
    ) -> Iterator[Violation]:
        if harness not in self._harnesses:
            known = ", ".join(self._harnesses)
            yield Violation("/harness", f"There is no harness {harness!r}; known: {known}.")
        if self._models.find(config.model) is None:
            known = ", ".join(self._models.names())
            yield Violation("/config/model", f"There is no model {config.model!r}; known: {known}.")
        for index, name in enumerate(config.tools):
            # The same words for a tool that isn't there and for one that is another tenant's.
            if self._catalog.find(tenant_id, name) is None:
                yield Violation(f"/config/tools/{index}", f"There is no tool {name!r}.")
            elif name in config.tools[:index]:
                yield Violation(f"/config/tools/{index}", f"The tool {name!r} is listed twice.")
        yield from config_violations(config)

    def _pinned(self, tenant_id: str, config: SessionConfig) -> tuple[ToolSpec, ...]:
        """What the model will see of each tool, whatever becomes of the host config."""
        found = (self._catalog.find(tenant_id, name) for name in config.tools)
        return tuple(tool.spec() for tool in found if tool is not None)
