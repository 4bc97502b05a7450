"""mcpmock as the OAuth client of a remote server, so that the clients in front need no login.

`token_store` keeps what logins gave, `credentials` puts it on requests and renews it, `provider`
drives the official SDK's implementation of the protocol, `callback` waits for the browser. The two
last ones need the extra `mcpmock[oauth]`, and are imported only when a login or a refresh is due.
The commands stand above, `channels.http` below.
"""
