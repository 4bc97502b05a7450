"""Login: what a fake authorization server (`replay --auth oauth`) says or does wrong.

These faults act on no message of a session: `authorization` asks for each at its place. Each fires
once, unless `match.times` says otherwise.
"""

from __future__ import annotations

import attrs

from mcpmock.faults.fault import HTTP, Fault, frozen
from mcpmock.faults.segments import On
from mcpmock.options.units import Seconds, to_seconds


@frozen(kw_only=True)
class _AuthFault(Fault, acts_on=On.LOGIN, only="client", transports=HTTP):
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.match.times is None:
            object.__setattr__(self, "match", attrs.evolve(self.match, times=1))


@frozen(kw_only=True)
class AuthWrongIss(_AuthFault):
    """The redirect back to the client names another issuer in `iss` (RFC 9207).

    A correct client throws the code away.

    >>> fault = mcpmock.faults.AuthWrongIss()
    """


@frozen(kw_only=True)
class AuthWrongIssuer(_AuthFault):
    """The metadata of the authorization server name another `issuer` (RFC 8414).

    A correct client does not use them.

    >>> fault = mcpmock.faults.AuthWrongIssuer()
    """


@frozen(kw_only=True)
class AuthWrongResource(_AuthFault):
    """The metadata of the protected resource name another `resource` (RFC 9728).

    A correct client does not log in for it.

    >>> fault = mcpmock.faults.AuthWrongResource()
    """


@frozen(kw_only=True)
class AuthInvalidGrant(_AuthFault):
    """A token request is answered with the error `invalid_grant`.

    With `match.nth = 2` the first refresh fails: a correct client logs in anew.

    >>> fault = mcpmock.faults.AuthInvalidGrant(match={"nth": 2})
    """


@frozen(kw_only=True)
class AuthExpireToken(_AuthFault):
    """The access token is worthless behind the answer to a request.

    A correct client refreshes it, or logs in, and sends its next request again.

    >>> fault = mcpmock.faults.AuthExpireToken(match={"nth": 3})
    """


@frozen(kw_only=True)
class AuthNoRegistration(_AuthFault):
    """The authorization server takes no dynamic registration and no client id document.

    >>> fault = mcpmock.faults.AuthNoRegistration()
    """


@frozen(kw_only=True)
class AuthScopeLoop(_AuthFault):
    """From a tool call on, no token is ever good enough: each call is asked for `scope` again.

    A correct client gives up after a few attempts.

    >>> fault = mcpmock.faults.AuthScopeLoop(scope="admin")
    """

    scope: str = "mcpmock:more"


@frozen(kw_only=True)
class AuthSlow(_AuthFault):
    """The authorization server answers after the time `delay`.

    >>> fault = mcpmock.faults.AuthSlow(delay="5s", match={"times": 3})
    """

    delay: Seconds = attrs.field(default=2.0, converter=to_seconds)
