"""The command `brain-sandbox`. Below: `service`."""

from sandbox.service import make_service


def main() -> None:
    """Run `brain-sandbox`."""
    make_service().main()
