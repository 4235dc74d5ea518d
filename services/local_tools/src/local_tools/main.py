"""The command `brain-local-tools`. Below: `service`."""

from local_tools.service import make_service


def main() -> None:
    """Run `brain-local-tools`."""
    make_service().main()
