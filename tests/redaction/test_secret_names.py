"""Names of secrets, by their words."""

from __future__ import annotations

import pytest

from mcpmock.redaction.secret_names import kind_of_name, words_of

SECRET_NAMES = [
    "password",
    "Password",
    "userPassword",
    "user_password",
    "user-password",
    "PASSWORD",
    "DB_PASSWORD",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "client_secret",
    "clientSecret",
    "apiKey",
    "api_key",
    "api-key",
    "X-Api-Key",
    "APIKey",
    "apikey",
    "accessToken",
    "access_token",
    "githubToken",
    "GITHUB_TOKEN",
    "token",
    "refresh_token",
    "id_token",
    "authorization",
    "Authorization",
    "Proxy-Authorization",
    "cookie",
    "Set-Cookie",
    "privateKey",
    "aws_secret_access_key",
    "secretKey",
    "credentials",
    "connectionString",
    "connection string",
    "connection.string",
    "code_verifier",
    "client_assertion",
    "jwt",
    "otp",
    "bearer",
    "passcode",
    "Ocp-Apim-Subscription-Key",
    "nextPassword",
    "first_api_key",
    "textSecret",
    "PGPASSWORD",
    "authtoken",
    "X-Accesstoken",
    "secretkey",
    "clientsecret",
    "pass",
    "db_pass",
    "MYSQL_PASS",
    "userPass",
    "smtp-pass",
    "guest_pass",
    "pass_2",
    "day_token",
    "day_password",
    "SMTP_PASS",
    "passwords",
    "apiKeys",
    "API_KEYS",
    "API_KEY_2",
    "token1",
    "SUPABASE_SERVICE_ROLE_KEY",
    "masterKey",
    "ssh-key",
    "X-Auth",
    "creds",
]
ORDINARY_NAMES = [
    "progressToken",
    "cursor",
    "nextCursor",
    "nextPageToken",
    "pageToken",
    "requestState",
    "subscriptionId",
    "maxTokens",
    "max_tokens",
    "token_count",
    "tokenCount",
    "password_policy",
    "passwordPolicy",
    "secretary",
    "tokens",
    "key",
    "keys",
    "name",
    "text",
    "author",
    "keyboard",
    "monkey",
    "tokenizer",
    "cookies_enabled",
    "id",
    "",
    "é",
    "sessionToken_type",
    "cancellationToken",
    "primaryKeyColumn",
    "first_pass",
    "boarding_pass",
    "boardingPass",
    "outbound-boarding-pass",
    "seasonPass",
    "day_pass",
    "ski_pass_2",
    "low_pass",
    "forwardPass",
    "--no-password",
    "bypass",
    "compass",
    "tokenizer_2",
    "sha256",
    "page_token_1",
    "mcpmock:secret:token:7",
    '"mcpmock:secret:token:7"',
    "keys",
    "partitionKey",
    "authors",
]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("githubToken", ("github", "token")),
        ("X-Api-Key", ("x", "api", "key")),
        ("API_KEY", ("api", "key")),
        ("APIKey", ("api", "key")),
        ("connection string 2", ("connection", "string", "2")),
        ("", ()),
    ],
)
def test_words(name: str, words: tuple[str, ...]) -> None:
    """A name falls apart at its joints, whatever they are."""
    assert words == words_of(name)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets(name: str) -> None:
    """A name whose words end in a secret's is a secret's, however it is spelled."""
    assert None is not kind_of_name(name)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_ordinary_names(name: str) -> None:
    """What the protocol calls a token, and what only talks about secrets, is ordinary."""
    assert None is kind_of_name(name)


def test_a_kind_is_the_words_that_say_so() -> None:
    """The kind that a placeholder shows is the ending that was recognized."""
    assert ("token", "api-key") == (kind_of_name("githubToken"), kind_of_name("X-Api-Key"))
