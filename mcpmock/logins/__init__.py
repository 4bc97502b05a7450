"""mcpmock as the OAuth client of a remote server, so that the clients in front need no login.

`token_store` keeps what logins gave, `credentials` puts it on requests and renews it, `provider`
drives the official SDK's implementation of the protocol with what `answers` fetches, `callback`
waits for the browser, and `limits` bounds what others say. `provider` and `answers` need the extra
`mcpmock[oauth]`: they are imported only when a login or a refresh is due. The commands stand above,
`channels.http` below.
"""
