"""Where the event log may be: `store` and `store_env`."""

import pytest

from brain_testing.host_config import ENV, Checker, accepted, pointers

pytestmark = pytest.mark.requirement("REC-05")

URL = "postgresql://brain:p%40ss@db.example:5432/brain?sslmode=verify-full"


@pytest.mark.parametrize(
    "store",
    [
        URL,
        "postgres://db/brain",
        "postgresql://one:5432,two:5433/brain",
        "postgresql://brain@[::1]:5432/brain",
        "postgresql://brain@/brain?host=%2Frun%2Fpostgresql",
    ],
)
def test_a_postgres_is_taken_as_it_stands(checked: Checker, store: str) -> None:
    assert accepted(checked({"store": store})).host.store == store
    assert accepted(checked({"store_env": "S"}, {**ENV, "S": store})).host.store == store


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("postgresql://db", "must name a database"),
        ("postgresql://db/", "must name a database"),
        ("postgresql://db:0/brain", "a host and a port"),
        ("postgresql://db:65536/brain", "a host and a port"),
        ("postgresql://db:port/brain", "a host and a port"),
        ("postgresql://one,two:x/brain", "a host and a port"),
        ("postgresql://[::1/brain", "must be postgresql://"),
        ("postgresql://brain:se#cret@db/brain", "written %23"),
        ("postgresql://brain:se cret@db/brain", "%20 for a space"),
        ("postgresql://brain:secret@db/brain\n", "%20 for a space"),
        ("mysql://brain:secret@db/brain", "must be sqlite:///PATH"),
        ("sqlite://brain.db", "must be sqlite:///PATH"),
    ],
)
def test_a_store_that_cannot_be_is_said_to_be_without_its_password(
    checked: Checker, store: str, said: str
) -> None:
    in_file = checked({"store": store})
    in_variable = checked({"store_env": "S"}, {**ENV, "S": store})

    for outcome, pointer in ((in_file, "/store"), (in_variable, "/store_env")):
        assert pointers(outcome) == [pointer]
        assert isinstance(outcome, tuple)
        assert said in str(outcome[0])
        assert "cret" not in str(outcome[0])


def test_a_relative_path_in_the_variable_begins_at_the_file(checked: Checker) -> None:
    env = {**ENV, "S": "sqlite:///data/brain.db"}
    store = accepted(checked({"store_env": "S"}, env)).host.store

    assert store.startswith("sqlite:////")
    assert store.endswith("/data/brain.db")


def test_a_variable_that_is_not_set_or_beside_a_store_is_refused(checked: Checker) -> None:
    unset = checked({"store_env": "S"})
    both = checked({"store": URL, "store_env": "S"}, {**ENV, "S": URL})

    assert pointers(unset) == pointers(both) == ["/store_env"]
    assert isinstance(unset, tuple)
    assert "isn't set" in str(unset[0])
    assert isinstance(both, tuple)
    assert "give one of the two" in str(both[0])


def test_a_checked_config_never_shows_the_store(checked: Checker) -> None:
    config = accepted(checked({"store_env": "S"}, {**ENV, "S": URL}))

    assert "p%40ss" not in repr(config)
