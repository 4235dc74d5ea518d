"""What a public address is. Above: `guard`. Below: nothing of ours.

Python's `is_global` isn't enough: before 3.13 it passes IPv4 addresses inside IPv6 ones
(`64:ff9b::7f00:1`, `2002:7f00:1::`), and it can't know of what cloud providers keep at public
addresses. So the special ranges are written out, from IANA's two registries of special-purpose
addresses, and `is_global` has the last word about what isn't listed.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

IPAddress = IPv4Address | IPv6Address

_SPECIAL: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "a private network"),
    ("100.64.0.0/10", "shared by a provider's customers"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud provider's own service"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "a private network"),
    ("192.0.0.0/24", "kept for protocols"),
    ("192.0.2.0/24", "for documentation"),
    ("192.31.196.0/24", "kept for protocols"),
    ("192.52.193.0/24", "kept for protocols"),
    ("192.88.99.0/24", "kept for protocols"),
    ("192.168.0.0/16", "a private network"),
    ("192.175.48.0/24", "kept for protocols"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/96", "an IPv4 address inside an IPv6 one"),  # ::, ::1 and ::a.b.c.d
    ("::ffff:0:0/96", "an IPv4 address inside an IPv6 one"),
    ("::ffff:0:0:0/96", "an IPv4 address inside an IPv6 one"),
    ("64:ff9b::/96", "an IPv4 address inside an IPv6 one"),
    ("64:ff9b:1::/48", "an IPv4 address inside an IPv6 one"),
    ("100::/64", "discarded"),
    ("100:0:0:1::/64", "kept for protocols"),
    ("2001::/23", "kept for protocols"),  # with Teredo, which holds an IPv4 address
    ("2001:db8::/32", "for documentation"),
    ("2002::/16", "an IPv4 address inside an IPv6 one"),
    ("2620:4f:8000::/48", "kept for protocols"),
    ("3fff::/20", "for documentation"),
    ("5f00::/16", "kept for protocols"),
    ("fc00::/7", "a private network"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "a private network"),
    ("ff00::/8", "multicast"),
)
_NETWORKS: tuple[tuple[IPv4Network | IPv6Network, str], ...] = tuple(
    (ip_network(network), kind) for network, kind in _SPECIAL
)
# What stands behind the prefix of ISATAP's interface id is an IPv4 address, under any prefix.
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def why_not_public(address: IPAddress) -> str | None:
    """What kind of address it is instead, in a few words; None if it is a public one."""
    for network, kind in _NETWORKS:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return "an IPv4 address inside an IPv6 one"
    return None if address.is_global and not address.is_reserved else "not a public address"
