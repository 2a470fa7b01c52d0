"""Finds a Chromium on this machine and knows the switches a headless host needs."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from attract.errors import ConfigurationError

SETTING = "ATTRACT_CHROMIUM"
SANDBOX = "ATTRACT_CHROMIUM_SANDBOX"
"""`off`: without Chromium's own sandbox, in containers that allow no user namespaces."""
EXPOSE_HEAP: Final = "--expose-heap"
"""Argument of `python -m attract.browser`, see `launch_switches`."""
PATH_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
INSTALL_COMMANDS = (
    "python -m playwright install --with-deps chromium",
    "apt-get install chromium        (Debian, Ubuntu; as root)",
    "brew install --cask chromium    (macOS)",
)
DISABLED_FEATURES = (
    # Pages of the address bar's menus: each window loads both, a headless one too, in a second of CPU.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # Playwright's own: of two such switches only the second counts.
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "TcpPortRandomizationWin",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
    "msForceBrowserSignIn",
    "msEdgeUpdateLaunchServicesPreferredVersion",
)
SWITCHES = (
    f"--disable-features={','.join(DISABLED_FEATURES)}",
    "--disable-quic",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--mute-audio",
    # WebRTC sends no UDP; its TCP connections go by the resolver's rules, see `resolver_rules`.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Builds with threads share memory; by headers alone every page around a game's would need them.
    "--enable-blink-features=SharedArrayBuffer",
)
"""A training host needs no network but the gateway's and no screen."""
JS_FLAGS = ("--max-semi-space-size=1", "--no-wasm-deopt")
"""Workers make little garbage: left to grow, the space for it costs each of them up to 40 MiB.

V8 inlines indirect calls of WebAssembly on a guess and throws the optimised function away when the guess was
wrong. ONNX Runtime's kernels are such calls, and its sessions then stayed at half their speed."""
HEAP_JS_FLAGS = ("--expose-gc", "--expose-statistics")
"""Lets a thread collect its garbage and read the size of its heap, workers too."""
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost", "*.localhost")
"""This machine's names; games that live in pages have names below `localhost`."""
PACKAGE_HOSTS: Final = (
    "ajax.googleapis.com",
    "cdn.babylonjs.com",
    "cdn.jsdelivr.net",
    "cdn.skypack.dev",
    "cdnjs.cloudflare.com",
    "code.createjs.com",
    "code.jquery.com",
    "esm.sh",
    "ga.jspm.io",
    "pixijs.download",
    "unpkg.com",
)
"""Servers of published packages, from which pages load engines and libraries; browsers get the same list.

Only scripts and style sheets: docs/decisions/0019-games-in-a-sandbox.md."""


@dataclass(frozen=True)
class Chromium:
    """A browser that can be started, and which rule found it."""

    path: str
    found_by: str

    def version(self) -> str | None:
        """Its version text, e.g. 'Chromium 156.0.8078.73'; None when it cannot be run."""
        try:
            done = subprocess.run(
                [self.path, "--version"], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() or None if done.returncode == 0 else None


def launch_switches(url: str | None = None, *, exposes_heap: bool = False) -> list[str]:
    """Switches for this user and machine; no sandbox for root, who cannot have it, or where told `off`.

    Args:
        url: of the page to be opened: of all servers but those of packages, only its own is reached. None:
            every server on this machine.
        exposes_heap: whether threads can measure their heap, as a playtest does for leaks.

    Raises: ConfigurationError: when the variable says neither `on` nor `off`.
    """
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    wish = os.environ.get(SANDBOX, "").strip()
    if wish not in ("", "on", "off"):
        raise ConfigurationError(
            f"{wish!r} is neither on nor off", setting=SANDBOX, fix="use off, or unset it"
        )
    rules = f"--host-resolver-rules={resolver_rules(url)}"
    flags = " ".join([*JS_FLAGS, *(HEAP_JS_FLAGS if exposes_heap else ())])
    return [*SWITCHES, f"--js-flags={flags}", rules, *(["--no-sandbox"] if as_root or wish == "off" else [])]


def resolver_rules(url: str | None) -> str:
    """Value of Chromium's `--host-resolver-rules`; the first rule that matches a host and port decides.

    Chromium applies it to names and addresses, of requests, prefetches and WebRTC alike. Every other name is
    answered "not found" within the browser: no query leaves the machine.

    Args:
        url: see `launch_switches`.
    """
    parts = urlsplit(url or "")
    host = parts.hostname or "localhost"
    port = "*" if url is None else parts.port or (443 if parts.scheme == "https" else 80)
    is_here = host in LOOPBACK or host.endswith(".localhost")
    hosts = [f"{name}:{port}" for name in (LOOPBACK if is_here else (host, *_as_ipv6(host)))]
    hosts += [f"{package}:443" for package in PACKAGE_HOSTS]
    proxies = {urlsplit(proxy).hostname for proxy in getproxies().values()}
    hosts += [f"{proxy}:*" for proxy in sorted(proxy for proxy in proxies if proxy)]
    return ", ".join([*(_same(host) for host in hosts), "MAP * ~NOTFOUND"])


def _as_ipv6(host: str) -> list[str]:
    """An IPv4 address as visitors' page games spell it, see `ServerNames.games_address`."""
    try:
        number = int(IPv4Address(host))
    except ValueError:
        return []
    return [f"::ffff:{number >> 16:x}:{number & 0xFFFF:x}"]


def _same(host_and_port: str) -> str:
    """The rule that lets a name be resolved as it is: a rule maps to a host, the port stays."""
    host, _, port = host_and_port.rpartition(":")
    name = f"[{host}]" if ":" in host else host
    return f"MAP {name}:{port} {name.removeprefix('*.')}"


def find_chromium(setting: str | None = None) -> Chromium | None:
    """The first of: the setting, the PATH, macOS applications, Playwright's own download; None without any.

    Raises: ConfigurationError: when the setting names something that is not an executable file.
    """
    wanted = setting or os.environ.get(SETTING)
    if wanted:
        resolved = shutil.which(wanted)
        if resolved is None:
            raise ConfigurationError(
                f"{wanted!r} is not an executable file", setting=SETTING, fix="name a Chromium, or unset it"
            )
        return Chromium(resolved, f"setting {SETTING}")
    for name in PATH_NAMES:
        if found := shutil.which(name):
            return Chromium(found, f"PATH ({name})")
    if sys.platform == "darwin":
        for application in MAC_APPLICATIONS:
            if os.access(application, os.X_OK):
                return Chromium(application, "applications")
    for candidate in _playwright_downloads():
        return Chromium(str(candidate), "Playwright's download")
    return None


def require_chromium(setting: str | None = None) -> Chromium:
    """`find_chromium`, or an error that names the commands which install one.

    Raises: ConfigurationError: when there is none.
    """
    chromium = find_chromium(setting)
    if chromium is None:
        commands = "\n    ".join(INSTALL_COMMANDS)
        raise ConfigurationError(
            "no Chromium was found on this machine",
            fix=f"install one:\n    {commands}\n  or set {SETTING}=/path/to/chromium",
        )
    return chromium


def start_failure(chromium: Chromium, error: Exception) -> ConfigurationError:
    """The one sentence of a browser that could not be started, with the last line that it said itself.

    `error`: Playwright's, whose text is all of the browser's switches and words.
    """
    said = re.findall(r"\[err\] (.*)", str(error))
    ended = re.search(r"exitCode=(\d+)", str(error))
    how = "did not start in time" if ended is None else f"ended at once (exit code {ended[1]})"
    why = f": {said[-1][:300]}" if said else ""
    return ConfigurationError(
        f"{chromium.path} {how}{why}", setting=SETTING, fix="is it a Chromium? `attract doctor` tries it"
    )


def _playwright_downloads() -> Iterator[Path]:
    """Browsers that `playwright install` put on this machine, newest first."""
    root = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if root in (None, "", "0"):
        home = Path.home()
        root = str(home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ms-playwright")
    found: list[Path] = []
    for pattern in (
        "chromium-*/chrome-linux*/chrome",
        "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium",
        "chromium_headless_shell-*/chrome-linux*/headless_shell",
        "chromium_headless_shell-*/*/headless_shell",
    ):
        found.extend(path for path in Path(root).glob(pattern) if os.access(path, os.X_OK))
    yield from sorted(found, key=_revision, reverse=True)


def _revision(path: Path) -> int:
    for part in path.parts:
        if part.startswith("chromium"):
            digits = part.rpartition("-")[2]
            return int(digits) if digits.isdigit() else 0
    return 0
