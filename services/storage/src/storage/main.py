"""The command `brain-storage`. Below: `service`."""

from storage.service import make_service


def main() -> None:
    """Run `brain-storage`."""
    make_service().main()
