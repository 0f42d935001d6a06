# A mail server (aiosmtpd) that keeps what it gets: smtpd.py CERT KEY MODE DIR. MODE is starttls or tls. It prints its
# port. The user is "me", the password "open sesame".
import asyncio
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Keep:
    n = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        Keep.n += 1
        with open(f"{sys.argv[4]}/{Keep.n}", "wb") as f:
            f.write(f"{envelope.mail_from} {','.join(envelope.rcpt_tos)}\n".encode() + envelope.content)
        return f"250 2.0.0 kept as {Keep.n}"


def check(server, session, envelope, mechanism, data):
    ok = isinstance(data, LoginPassword) and (data.login, data.password) == (b"me", b"open sesame")
    return AuthResult(success=ok, handled=ok)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    options = dict(authenticator=check, auth_required=True, hostname="127.0.0.1")
    at_once = context if sys.argv[3] == "tls" else None
    if at_once:
        options.update(auth_require_tls=False)
    else:
        options.update(tls_context=context, require_starttls=True)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Keep(), loop=loop, **options), "127.0.0.1", 0, ssl=at_once)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
