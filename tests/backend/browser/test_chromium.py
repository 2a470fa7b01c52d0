"""Finding a Chromium: the order of the places, and the words when there is none."""

import os
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from attract.browser import chromium
from attract.errors import ConfigurationError
from servers import Listeners, served_page


def _executable(path: Path, text: str = "#!/bin/sh\necho Chromium 1.2.3\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty PATH folder and an empty home."""
    monkeypatch.delenv(chromium.SETTING, raising=False)
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_none_is_found_on_a_bare_machine(bare_machine: Path) -> None:
    assert chromium.find_chromium() is None


def test_the_error_names_the_commands_that_install_one(bare_machine: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        chromium.require_chromium()
    for command in chromium.INSTALL_COMMANDS:
        assert command in str(caught.value)
    assert chromium.SETTING in str(caught.value)


def test_playwrights_newest_download_is_found_last(bare_machine: Path) -> None:
    cache = bare_machine / "home/.cache/ms-playwright"
    _executable(cache / "chromium-999/chrome-linux/chrome")
    newest = _executable(cache / "chromium-1200/chrome-linux64/chrome")
    found = chromium.find_chromium()
    assert found is not None
    assert found.path == str(newest)
    on_path = _executable(bare_machine / "bin/chromium")
    found = chromium.find_chromium()
    assert found is not None
    assert found.path == str(on_path)


def test_the_setting_wins_over_the_path(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(bare_machine / "bin/chromium")
    chosen = _executable(bare_machine / "else/my-chromium")
    monkeypatch.setenv(chromium.SETTING, str(chosen))
    found = chromium.find_chromium()
    assert found is not None
    assert (found.path, found.found_by) == (str(chosen), f"setting {chromium.SETTING}")
    assert found.version() == "Chromium 1.2.3"


def test_a_setting_that_names_nothing_is_refused(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(bare_machine / "bin/chromium")
    monkeypatch.setenv(chromium.SETTING, "/nowhere/chromium")
    with pytest.raises(ConfigurationError, match="'/nowhere/chromium' is not an executable file"):
        chromium.find_chromium()


def test_a_browser_that_does_not_start_has_no_version(bare_machine: Path) -> None:
    broken = _executable(bare_machine / "bin/chromium", "#!/bin/sh\nexit 3\n")
    assert chromium.Chromium(str(broken), "test").version() is None


def test_the_sandbox_is_off_only_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "--no-sandbox" in chromium.launch_switches()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--no-sandbox" not in chromium.launch_switches()


def test_scale_11_a_container_without_user_namespaces_switches_the_sandbox_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv(chromium.SANDBOX, "off")
    assert "--no-sandbox" in chromium.launch_switches()
    monkeypatch.setenv(chromium.SANDBOX, "no")
    with pytest.raises(ConfigurationError, match="neither on nor off"):
        chromium.launch_switches()


HERE = (
    "MAP 127.0.0.1:{0} 127.0.0.1, MAP [::1]:{0} [::1], "
    "MAP localhost:{0} localhost, MAP *.localhost:{0} localhost"
)
PACKAGES = ", ".join(f"MAP {host}:443 {host}" for host in chromium.PACKAGE_HOSTS)


@pytest.mark.parametrize(
    ("url", "own"),
    [
        (None, HERE.format("*")),
        ("http://127.0.0.1:8000/join.html#token=x", HERE.format(8000)),
        ("http://g1-00ff.localhost:9/", HERE.format(9)),
        ("http://[::1]:8000/", HERE.format(8000)),
        ("http://192.168.1.5/", "MAP 192.168.1.5:80 192.168.1.5, MAP [::ffff:c0a8:105]:80 [::ffff:c0a8:105]"),
        ("http://[fd00::7]:8000/", "MAP [fd00::7]:8000 [fd00::7]"),
        ("https://trainer.example/join.html", "MAP trainer.example:443 trainer.example"),
    ],
)
def test_a_browser_reaches_its_server_and_published_packages_alone(
    url: str | None, own: str, no_proxies: None
) -> None:
    rules = f"--host-resolver-rules={own}, {PACKAGES}, MAP * ~NOTFOUND"
    assert rules in chromium.launch_switches(url)


def test_a_browser_reaches_the_proxy_that_it_is_to_use(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://user:secret@proxy.example:3128")
    rules = chromium.resolver_rules("http://127.0.0.1:8000/")
    assert rules.endswith("MAP proxy.example:* proxy.example, MAP * ~NOTFOUND")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


WAYS_OUT = """async ([tcp, udp]) => {
  const urls = [`stun:127.0.0.1:${udp}`, `stun:localhost:${udp}`];
  for (const port of [`${udp}`, `${tcp}?transport=tcp`]) urls.push(`turn:127.0.0.1:${port}`);
  urls.push(`turns:127.0.0.1:${tcp}?transport=tcp`);
  for (const address of urls) {
    const server = { urls: address, username: "a", credential: "b" };
    const peer = new RTCPeerConnection({ iceServers: [server] });
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
  }
  const href = `http://127.0.0.1:${tcp}`;
  for (const rel of ["preconnect", "prefetch", "stylesheet", "icon"])
    document.head.append(Object.assign(document.createElement("link"), { rel, href }));
  await fetch(`http://127.0.0.1:${tcp}/`, { mode: "no-cors" }).catch(() => undefined);
  await fetch("http://a-name.example/", { mode: "no-cors" }).catch(() => undefined);
  await new Promise((done) => setTimeout(done, 2000));
}"""


async def num_seen(switches: list[str], url: str) -> int:
    """How often a page without any policy gets out of a browser with these switches."""
    with Listeners() as listeners:
        async with async_playwright() as playwright:
            path = chromium.require_chromium().path
            browser = await playwright.chromium.launch(executable_path=path, args=switches)
            page = await browser.new_page()
            await page.goto(url)
            await page.evaluate(WAYS_OUT, [listeners.tcp, listeners.udp])
            await browser.close()
    return listeners.connections + listeners.datagrams


async def test_nothing_but_its_server_hears_of_a_browser_by_whatever_way(no_proxies: None) -> None:
    with served_page("<p>a page without a policy") as url:
        switches = chromium.launch_switches(url)
        assert await num_seen(switches, url) == 0
        confining = ("--webrtc-ip-handling-policy", "--host-resolver-rules")
        bare = [switch for switch in switches if not switch.startswith(confining)]
        assert await num_seen(bare, url) > 0, "the page tries nothing"


def test_a_playtests_host_tells_its_heap_by_the_one_switch_of_v8s_flags() -> None:
    for exposes_heap in (False, True):
        flags = [
            switch
            for switch in chromium.launch_switches(exposes_heap=exposes_heap)
            if switch.startswith("--js-flags=")
        ]
        assert len(flags) == 1
        assert "--max-semi-space-size=1" in flags[0]
        assert ("--expose-gc" in flags[0]) is exposes_heap
