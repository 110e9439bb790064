"""Who a client is: the connection's own address, or what a proxy says that the operator trusts."""

import pytest
from starlette.requests import Request
from tensor_anatomy.settings import SettingInvalid, Settings
from tensor_anatomy.web.clients import BehindProxies, client_of, key_of, networks

TRUSTED = "10.0.0.0/8 2001:db8::1"


async def seen(peer, header="X-Forwarded-For", trusted=TRUSTED, **headers):
    """The client and the scheme as the application sees them."""
    found = []

    async def app(scope, receive, send):
        request = Request(scope)
        found.append((client_of(request), request.url.scheme))

    lines = [(n.replace("_", "-").encode(), v.encode()) for n, vs in headers.items() for v in vs.split("\n")]
    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": lines,
        "client": (peer, 1), "server": ("s", 80), "scheme": "http",
    }  # fmt: skip
    await BehindProxies(app, trusted=networks(trusted), header=header)(scope, None, None)
    return found[0]


@pytest.mark.parametrize(
    ("peer", "said", "client"),
    [
        pytest.param("192.0.2.9", "198.51.100.1", "192.0.2.9", id="nobody believes a stranger"),
        pytest.param("10.0.0.1", "198.51.100.1", "198.51.100.1", id="a proxy is believed"),
        pytest.param(
            "10.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1", id="what the client made up is not"
        ),
        pytest.param("10.0.0.1", "198.51.100.1, 10.0.0.7", "198.51.100.1", id="two proxies"),
        pytest.param("10.0.0.1", "6.6.6.6\n198.51.100.1", "198.51.100.1", id="two lines"),
        pytest.param("10.0.0.1", "198.51.100.1:4711", "198.51.100.1", id="with a port"),
        pytest.param("10.0.0.1", "[2001:db8:7::5]:4711", "2001:db8:7::/64", id="IPv6 with a port"),
        pytest.param("2001:db8::1", "2001:db8:7::5", "2001:db8:7::/64", id="a proxy on IPv6"),
        pytest.param("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1", id="a mapped proxy"),
        pytest.param("10.0.0.1", "unknown", "10.0.0.1", id="no address"),
        pytest.param("10.0.0.1", "198.51.100.1, <script>", "10.0.0.1", id="rubbish at the end"),
        pytest.param("10.0.0.1", "", "10.0.0.1", id="empty"),
        pytest.param("10.0.0.1", ", ".join(["10.1.1.1"] * 10_000), "10.1.1.1", id="very long"),
    ],
)
async def test_x_forwarded_for(peer, said, client):
    assert (await seen(peer, x_forwarded_for=said))[0] == client


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ("for=198.51.100.1;proto=https;by=10.0.0.1", "198.51.100.1"),
        ('proto=https;For="[2001:db8:7::5]:4711"', "2001:db8:7::/64"),
        ("for=6.6.6.6, for=198.51.100.1", "198.51.100.1"),
        ("for=_hidden", "10.0.0.1"),
        ("198.51.100.1", "10.0.0.1"),
    ],
)
async def test_forwarded_of_the_standard(said, client):
    assert (await seen("10.0.0.1", "Forwarded", forwarded=said))[0] == client


async def test_a_header_of_the_proxys_own():
    answer = await seen("10.0.0.1", "X-Real-IP", x_real_ip="198.51.100.1", x_forwarded_for="6.6.6.6")
    assert answer[0] == "198.51.100.1"


async def test_a_proxy_says_with_which_scheme_it_was_asked():
    assert (await seen("10.0.0.1", x_forwarded_proto="https"))[1] == "https"
    assert (await seen("192.0.2.9", x_forwarded_proto="https"))[1] == "http"
    assert (await seen("10.0.0.1", x_forwarded_proto="gopher"))[1] == "http"


def test_one_subscriber_of_ipv6_is_one_client():
    assert key_of("2001:db8:1:2::1") == key_of("2001:db8:1:2:ffff::9") != key_of("2001:db8:1:3::1")
    assert key_of("fe80::1%eth0") == "fe80::/64"
    assert len(key_of("x" * 5000)) == 64


def test_a_proxy_must_be_an_address():
    assert Settings.from_env({"TRUSTED_PROXY": "127.0.0.1, 10.0.0.0/8"}).trusted_proxy
    for wrong in ("proxy.example", "10.0.0.0/99", "*"):
        with pytest.raises(SettingInvalid, match="TRUSTED_PROXY"):
            Settings.from_env({"TRUSTED_PROXY": wrong})
    with pytest.raises(SettingInvalid, match="FORWARDED_HEADER"):
        Settings.from_env({"FORWARDED_HEADER": "X-Forwarded-For: 1"})
