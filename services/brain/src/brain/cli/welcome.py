"""What `brain up` says once all is ready: lines that work when pasted. Above: `up`."""

import shlex

from brain.cli.address import url_of
from brain.cli.called import brain_command
from brain.cli.home import Home


def welcome(home: Home, listen: str, *, key_in_env: bool, approvals: str = "") -> str:
    """The address, where the key is, and what to do next.

    `approvals` is the line about the page where operators answer, if there is one.
    """
    url = url_of(listen)
    key_file = shlex.quote(str(home.api_key))
    key = "$BRAIN_API_KEY" if key_in_env else f"$(cat {key_file})"
    where = "is the one in BRAIN_API_KEY" if key_in_env else f"is in {key_file}"
    return f"""
Brain is ready at {url}. The API key {where}.

  See what it offers:   curl -s {url}/catalog -H "Authorization: Bearer {key}"
  Talk to it:           {brain_command("chat", home.path)}
{approvals}  Stop it:              Ctrl-C
"""


def approvals_line(home: Home, listen: str, *, keys_in_env: bool) -> str:
    """Where operators answer what agents ask, and with which key."""
    file = shlex.quote(str(home.path / "tools" / "operator_key"))
    key = "a key of APPROVALS_KEYS" if keys_in_env else f"the key in {file}"
    return f"  Answer approvals:     {url_of(listen)}/ with {key}\n"
