"""How `mcpmock login` logs in."""

from .option import OptionTable, option


class LoginCommandOptions(OptionTable):
    """The client that logs in, and what it asks for."""

    device: bool = option(False, "Log in on another device, with a code.")
    client_id: str | None = option(None, "Use this registered client.", metavar="ID")
    client_secret_env: str | None = option(
        None, "Environment variable with the secret of --client-id.", metavar="NAME"
    )
    scope: str | None = option(None, "Ask for these scopes, separated by spaces.", metavar="SCOPES")
    resource: str | None = option(None, "Ask for a token for this resource.", metavar="URI")
