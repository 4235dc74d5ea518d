"""Who is asking, and may the request be theirs. Above: `routes`, `stream`. Below: `sign_ins`.

A key in `Authorization` is the operator's own doing. A cookie is sent by the browser whoever made
the page, so with a cookie a change counts only if it comes from our own page: the browser says
where from in `Origin`, which no page can set, and our requests are JSON, which no form can send.
"""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from local_tools.approvals.operators import Operators
from local_tools.approvals.problem import Refused
from local_tools.approvals.sign_ins import LASTS, SignIns

COOKIE = "approvals"


class Guard:
    """Knows the operators by their keys and by their cookies."""

    def __init__(self, operators: Operators, sign_ins: SignIns) -> None:
        self._operators = operators
        self._sign_ins = sign_ins

    def reader(self, request: Request) -> str:
        """The operator who reads. Raises: Refused."""
        operator = self._by_header(request) or self._by_cookie(request)
        if operator is None:
            raise Refused(401, "An operator's key is needed, or it is wrong.")
        return operator

    def writer(self, request: Request) -> str:
        """The operator who changes something. Raises: Refused."""
        operator = self._by_header(request)
        if operator is not None:
            return operator
        self.own_page(request)
        return self.reader(request)

    def own_page(self, request: Request) -> None:
        """Hold a browser's request to come from our page. Raises: Refused."""
        origin = request.headers.get("origin", "")
        if not origin or urlsplit(origin).netloc != request.headers.get("host"):
            raise Refused(403, "This is done from the page itself, or with an operator's key.")

    def sign_in(self, request: Request, key: str, answer: Response) -> str:
        """Sign in with a key; gives the operator's name. Raises: Refused."""
        self.own_page(request)
        operator = self._operators.by_key(key)
        if operator is None:
            raise Refused(401, "No operator has this key.")
        answer.set_cookie(
            COOKIE,
            self._sign_ins.begin(operator),
            max_age=int(LASTS.total_seconds()),
            secure=request.headers["origin"].startswith("https:"),
            httponly=True,
            samesite="strict",
        )
        return operator.name

    def sign_out(self, request: Request, answer: Response) -> None:
        """Sign out whoever is signed in. Raises: Refused."""
        self.own_page(request)
        self._sign_ins.end(request.cookies.get(COOKIE, ""))
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def _by_header(self, request: Request) -> str | None:
        header = request.headers.get("authorization")
        if header is None:
            return None
        scheme, _, key = header.partition(" ")
        operator = self._operators.by_key(key) if scheme.lower() == "bearer" else None
        if operator is None:
            raise Refused(401, "No operator has this key.")
        return operator.name

    def _by_cookie(self, request: Request) -> str | None:
        token = request.cookies.get(COOKIE)
        return self._sign_ins.operator(token) if token else None
