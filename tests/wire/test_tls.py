"""TLS goes through the same code: verified by default, stamped like everything else."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from raw_server import Peer, RawServer, answers, chunked, head, kernel_stamps, meet, target_of, user_stamps, with_length

from relaymark.trace import TransferEnd
from relaymark.wire import Timeouts

BODY = chunked(b"data: hello\n\n" * 40, b"0\r\n\r\n", b"x" * 70_000)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command += " -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    try:
        subprocess.run([*command.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl command")
    return cert, key


@pytest.fixture
def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_requests_over_tls_are_framed_stamped_and_reuse_their_connection(
    server_context: ssl.SSLContext, version: ssl.TLSVersion, loop: str
) -> None:
    server_context.minimum_version = server_context.maximum_version = version
    response = head("Transfer-Encoding: chunked") + BODY
    with RawServer(answers(response[:30], response[30:]), context=server_context) as server:
        captures = meet(server.url, times=4, loop=loop, verify_tls=False, body=b"y" * 100_000)
        assert len(server.peers) == 1
        assert [len(body) for _, body in server.peers[0].requests] == [100_000] * 4
    for captured in captures:
        assert (captured.end, captured.error, captured.raw) == (TransferEnd.COMPLETE, "", response)
        user = user_stamps(captured)
        assert captured.connected is not None and captured.sent is not None
        assert captured.connected <= captured.sent <= user[0]
        if sys.platform == "linux":
            kernel = kernel_stamps(captured)
            assert len(kernel) == len(user)
            assert all(ours - its > -200_000 for ours, its in zip(user, kernel, strict=True))


def test_an_untrusted_certificate_is_refused_with_a_reason(server_context: ssl.SSLContext) -> None:
    with RawServer(answers(with_length(b"secret")), context=server_context) as server:
        (captured,) = meet(server.url)
        assert not any(peer.requests for peer in server.peers), "nothing may be sent to a peer we do not trust"
    assert captured.end is TransferEnd.CLIENT_ERROR
    assert "not trusted" in captured.error
    assert "self" in captured.error
    assert captured.sent is None


def test_a_trusted_certificate_is_verified_with_its_name(
    certificate: tuple[Path, Path], server_context: ssl.SSLContext
) -> None:
    with RawServer(answers(with_length(b"hi")), context=server_context) as server:
        target = target_of(server.url)
        assert target.tls is not None
        target.tls.load_verify_locations(certificate[0])
        import asyncio

        from raw_server import post, run

        from relaymark.wire import Client

        async def work() -> TransferEnd:
            client = Client(target)
            captured = await asyncio.wait_for(post(client), 10)
            client.close()
            return captured.end

        assert run(work) is TransferEnd.COMPLETE


def test_plain_http_where_tls_is_expected_is_a_refusal_in_words() -> None:
    def handler(peer: Peer) -> None:
        peer.sock.recv(1000)
        peer.send(b"HTTP/1.1 400 The plain HTTP request was sent to HTTPS port\r\n\r\n")
        peer.wait_closed()

    with RawServer(handler) as server:
        (captured,) = meet(server.url.replace("http://", "https://"), verify_tls=False)
    assert captured.end is TransferEnd.REFUSED
    assert captured.error.startswith("TLS: ")


def test_a_slow_handshake_counts_as_connecting() -> None:
    over = threading.Event()
    with RawServer(lambda peer: over.wait(10) and None) as server:
        url = server.url.replace("http://", "https://")
        (captured,) = meet(url, verify_tls=False, timeouts=Timeouts(connect=200_000_000))
        over.set()
    assert captured.end is TransferEnd.TIMEOUT_CONNECT
    assert captured.connected is None


@pytest.mark.parametrize("orderly", [True, False])
def test_the_close_of_a_tls_connection_ends_a_body_that_only_a_close_can_end(
    server_context: ssl.SSLContext, orderly: bool
) -> None:
    response = head("Connection: close") + b"until the close"

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(response)
        if orderly:
            assert isinstance(peer.sock, ssl.SSLSocket)
            peer.sock.unwrap()

    with RawServer(handler, context=server_context) as server:
        (captured,) = meet(server.url, verify_tls=False)
    assert captured.raw == response
    assert captured.end is TransferEnd.COMPLETE


def test_a_tls_stream_cut_before_its_end_is_not_whole(server_context: ssl.SSLContext) -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n")

    with RawServer(handler, context=server_context) as server:
        (captured,) = meet(server.url, verify_tls=False)
    assert captured.end in (TransferEnd.EOF, TransferEnd.RESET)
    assert captured.raw.endswith(b"5\r\nhello\r\n")
