"""The host config's check: every problem at once, each with its pointer."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain.config.check import check, summary
from brain_testing.host_config import ENV, KEY, Checker, Json, accepted, pointers, tool


@pytest.mark.requirement("CONF-01")
def test_every_field_has_a_default(checked: Checker, tmp_path: Path) -> None:
    config = accepted(checked({"tools": []}))

    assert config.host.listen == "127.0.0.1:8080"
    assert config.host.public_url == "http://127.0.0.1:8080"
    assert config.host.store == f"sqlite:///{tmp_path}/.brain/brain.db"
    assert config.host.engine.listen == f"unix:{tmp_path}/.brain/engine.sock"
    assert config.api_keys == {"local": (KEY,)}
    assert config.models == ()
    assert summary(config) == "0 tools, 0 models, 1 tenant"


@pytest.mark.requirement("CONF-01")
def test_models_default_to_the_known_providers_whose_key_is_set(checked: Checker) -> None:
    env = {**ENV, "OPENAI_API_KEY": "o", "GROQ_API_KEY": "g", "MISTRAL_API_KEY": ""}
    config = accepted(checked({}, env))

    assert [model.provider for model in config.models] == ["openai", "groq"]
    assert config.model_keys == {"openai": "o", "groq": "g"}


def test_a_known_provider_needs_only_its_name(checked: Checker) -> None:
    config = accepted(checked({"models": [{"provider": "ollama"}]}))

    assert config.models[0].api == "openai-chat"
    assert config.models[0].base_url == "http://127.0.0.1:11434/v1"


@pytest.mark.requirement("CONF-02")
def test_ten_faults_give_ten_lines_each_with_its_pointer(checked: Checker) -> None:
    document = {
        "listen": "nowhere",
        "store": "mysql://host/db",
        "tols": [],
        "tenants": [
            {"id": "local", "api_keys_env": ["BRAIN_API_KEY"]},
            {"id": "other", "api_keys_env": ["NOT_SET"]},
        ],
        "tools": [
            tool(name="1st", url="ftp://example.com/x"),
            tool(timeout_seconds=True, tenants=["nobody"]),
            tool(input_schema={"type": "array"}),
            tool(name="b/c~d", token_env="NOT_SET"),
        ],
    }
    outcome = checked(document)

    assert pointers(outcome) == [
        "/listen",
        "/store",
        "/tenants/1/api_keys_env/0",
        "/tols",
        "/tools/0/name",
        "/tools/0/url",
        "/tools/1/tenants/0",
        "/tools/1/timeout_seconds",
        "/tools/2/input_schema",
        "/tools/2/name",
        "/tools/3/name",
        "/tools/3/token_env",
    ]
    assert isinstance(outcome, tuple)
    lines = [str(problem) for problem in outcome]
    assert all("\n" not in line and line.startswith("/") for line in lines)
    assert "did you mean tools?" in lines[3]


@pytest.mark.requirement("CONF-04", "CONF-05", "CONF-07", "CONF-08", "CONF-09", "CONF-10")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "1a"),
        ("name", "a-b"),
        ("name", "a" * 65),
        ("name", "é"),
        ("name", ""),
        ("name", "a\n"),
        ("name", 5),
        ("name", ...),
        ("description", ...),
        ("description", ""),
        ("description", " \n\t"),
        ("url", "127.0.0.1:8081/x"),
        ("url", "/tools/echo"),
        ("url", "ftp://host/x"),
        ("url", "http://"),
        ("url", "http:///x"),
        ("url", "http://user@host/x"),
        ("url", "http://user:word@host/x"),
        ("url", "http://host/x#part"),
        ("url", "http://host/x#"),
        ("url", "http://host:0/x"),
        ("url", "http://host:99999/x"),
        ("url", "http://ho st/x"),
        ("url", "http://host/x\n"),
        ("url", ...),
        ("tenants", []),
        ("tenants", "local"),
        ("tenants", ...),
        ("token_env", "NOT_SET"),
        ("token_env", "EMPTY"),
        ("token_env", "not a variable"),
        ("timeout_seconds", 0),
        ("timeout_seconds", 86401),
        ("timeout_seconds", True),
        ("timeout_seconds", 1.5),
        ("timeout_seconds", "300"),
        ("timeout_seconds", None),
        ("max_output_bytes", 0),
        ("max_output_bytes", 2097153),
        ("max_output_bytes", True),
        ("max_output_bytes", "1"),
        ("inspect_session", "yes"),
        ("inspect_session", 1),
        ("mcp_tool", ""),
        ("timeout", 5),
    ],
)
def test_a_wrong_field_of_a_binding_is_one_problem(
    checked: Checker, field: str, value: object
) -> None:
    outcome = checked({"tools": [tool(**{field: value})]}, {**ENV, "EMPTY": ""})

    assert pointers(outcome) == [f"/tools/0/{field}"]


@pytest.mark.requirement("CONF-04", "CONF-07", "CONF-10")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a"),
        ("name", "A_1" + "b" * 61),
        ("url", "https://host"),
        ("url", "http://[::1]:80/x?a=%20b"),
        ("url", "http://host/a/../b"),
        ("timeout_seconds", 1),
        ("timeout_seconds", 86400),
        ("max_output_bytes", 1),
        ("max_output_bytes", 2097152),
        ("token_env", "TOOL_KEY"),
        ("mcp_tool", "remote/tool name"),
        ("output_schema", {"type": "object"}),
        ("output_schema", True),
    ],
)
def test_a_right_field_of_a_binding_is_kept_as_it_was_written(
    checked: Checker, field: str, value: object
) -> None:
    config = accepted(checked({"tools": [tool(**{field: value})]}))

    assert getattr(config.host.tools[0], field) == value


@pytest.mark.requirement("CONF-10")
def test_limits_that_are_left_out_have_their_defaults(checked: Checker) -> None:
    binding = accepted(checked({"tools": [tool()]})).host.tools[0]

    assert (binding.timeout_seconds, binding.max_output_bytes) == (300, 1048576)


@pytest.mark.requirement("MCP-01")
def test_no_mcp_server_is_given_a_token_that_reads_sessions(checked: Checker) -> None:
    tools = [tool(mcp_tool="remote", inspect_session=True)]
    assert pointers(checked({"tools": tools})) == ["/tools/0/inspect_session"]


@pytest.mark.requirement("CONF-04")
def test_a_name_is_unique_in_the_file(checked: Checker) -> None:
    assert pointers(checked({"tools": [tool(), tool(name="b"), tool()]})) == ["/tools/2/name"]


@pytest.mark.requirement("CONF-11")
def test_two_tenants_can_not_share_a_key(checked: Checker) -> None:
    tenants = [{"id": "a", "api_keys_env": ["A"]}, {"id": "b", "api_keys_env": ["B", "C"]}]
    env = {"A": KEY, "B": "b" * 20, "C": KEY}

    assert pointers(checked({"tenants": tenants}, env)) == ["/tenants/1/api_keys_env/1"]


@pytest.mark.requirement("CONF-11")
def test_a_short_key_is_a_warning(checked: Checker) -> None:
    config = accepted(checked({}, {"BRAIN_API_KEY": "short"}))

    assert [warning.pointer for warning in config.warnings] == ["/tenants/0/api_keys_env/0"]


def test_where_edges_connect_to_is_where_the_engine_listens_unless_it_is_said(
    checked: Checker,
) -> None:
    config = accepted(checked({"engine": {"listen": "unix:a.sock"}}))
    assert config.host.engine.connect == [config.host.engine.listen]
    wrong = {"connect": ["nowhere"], "key_env": "TOOL_KEY", "tls": {"certificate": "x"}}
    assert pointers(checked({"engine": wrong})) == ["/engine/connect/0", "/engine/tls/certificate"]


def test_an_engine_on_tcp_needs_a_key(checked: Checker) -> None:
    engine = {"listen": "0.0.0.0:9000"}
    assert pointers(checked({"engine": engine})) == ["/engine/key_env"]

    only_connects = {"connect": ["unix:engine.sock", "engine.internal:9000"]}
    assert pointers(checked({"engine": only_connects})) == ["/engine/key_env"]
    config = accepted(checked({"engine": {**engine, "key_env": "TOOL_KEY"}}))
    assert config.engine_key == ENV["TOOL_KEY"]


@pytest.mark.requirement("CONF-09")
@pytest.mark.parametrize("value", ["two words", "line\nbreak", "\u00e9", "tab\there", " "])
def test_a_secret_that_can_not_be_sent_in_a_header_is_refused(checked: Checker, value: str) -> None:
    outcome = checked({"tools": [tool(token_env="TOOL_KEY")]}, {**ENV, "TOOL_KEY": value})

    assert pointers(outcome) == ["/tools/0/token_env"]
    assert value.strip() not in str(outcome) or not value.strip()


def test_no_secret_shows_in_a_config_or_a_problem(checked: Checker) -> None:
    config = accepted(checked({"tools": [tool(token_env="TOOL_KEY")]}))
    outcome = checked({"tools": [tool(url="http://user:hunter2@host/x")]})

    assert KEY not in repr(config)
    assert ENV["TOOL_KEY"] not in repr(config)
    assert "hunter2" not in str(outcome)


@pytest.mark.requirement("CONF-12")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"tools": [}', "line 1, column 12"),
        ("", "line 1, column 1"),
        ('{"a": 1,\n "a": 2}', "line 1, column 1"),
        ('{"tools": [\n  {"name": "x", "name": "y"}]}', "line 2, column 3"),
        ('{\n"x": NaN}', "line 2, column 6"),
        ("[]", "one JSON object"),
        ("[" * 100_000, "deep"),
    ],
)
def test_a_file_that_can_not_be_read_is_one_line_with_the_position(
    checked: Checker, text: str, says: str
) -> None:
    outcome = checked(text)

    assert isinstance(outcome, tuple)
    (problem,) = outcome
    assert says in str(problem)
    assert "\n" not in str(problem)


@pytest.mark.requirement("CONF-12")
def test_a_missing_file_and_one_that_is_not_utf_8_are_said(tmp_path: Path) -> None:
    foreign = tmp_path / "latin1.json"
    foreign.write_bytes(b'{"x":\n "\xe9"}')

    for path, says in ((tmp_path / "none.json", "No such file"), (foreign, "line 2")):
        outcome = check(path, ENV)
        assert isinstance(outcome, tuple)
        assert says in str(outcome[0])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = ["listen", "store", "engine", "tenants", "models", "tools", "public_url", "metrics_listen"]


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(document=st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_no_document_is_too_strange_for_a_clear_answer(checked: Checker, document: Json) -> None:
    outcome = checked(document)

    if isinstance(outcome, tuple):
        assert outcome
        assert len(set(pointers(outcome))) == len(outcome)
        whole_file = pointers(outcome) == [""]
        assert whole_file or all(pointer.startswith("/") for pointer in pointers(outcome))
