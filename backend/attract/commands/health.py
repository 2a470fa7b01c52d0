"""`attract health`: whether a trainer answers, and why it does not."""

import http.client
import ssl
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from attract.commands import flags
from attract.commands.json_output import print_answer
from attract.commands.trainer_watch import Problem
from attract.processes.exit_codes import DONE, FAILED
from attract.schema.answers import HealthAnswer
from attract.settings.run import ServerSettings, is_loopback

HEALTH_SECONDS = 3.0
DEFAULT_URL = f"http://{ServerSettings().host}:{ServerSettings().port}"


@flags.options
class HealthOptions:
    json_output: flags.Json = False


def health(url: str = DEFAULT_URL, /, options: HealthOptions = HealthOptions()) -> int:
    """Exit with 0 if the server at URL answers; for health checks of containers.

    Parameters
    ----------
    url
        Address of the trainer.

    Examples
    --------
    attract health  # the trainer on this machine
    attract health http://127.0.0.1:9000  # another port
    attract health || exit 1  # in a script
    """
    found = problem_of(url)
    problem = None if found is None else found.text
    if options.json_output:
        print_answer(HealthAnswer(url=url, ok=problem is None, problem=problem))
    elif problem is not None:
        print(f"{url} is unhealthy: {problem}", file=sys.stderr)
    return DONE if problem is None else FAILED


def problem_of(url: str) -> Problem | None:
    """Why the gateway at `url` does not answer `/healthz` with 200 in time; None when it does.

    Waiting cannot help where the certificate, the name or the address is wrong.
    """
    by = ""
    try:
        proxy = _proxy_for(url)
        by = "" if proxy is None else f" through the proxy {_without_user(proxy)} of the environment"
        # Replaces urllib's own proxy lookup, which sends loopback through the proxy too.
        proxies = urllib.request.ProxyHandler({} if proxy is None else {urlsplit(url).scheme: proxy})
        opener = urllib.request.build_opener(proxies)
        with opener.open(f"{url.rstrip('/')}/healthz", timeout=HEALTH_SECONDS) as answer:
            return None if answer.status == 200 else Problem(f"it answered{by} with status {answer.status}")
    except urllib.error.HTTPError as error:
        # A proxy whose server is away answers with 502, 503 or 504.
        text = f"it answered{by} with status {error.code}; is this a trainer's address?"
        return Problem(text, mends_itself=error.code >= 500 or error.code == 429)
    except urllib.error.URLError as error:
        reason = error.reason
        return Problem(f"no answer{by}: {reason}", mends_itself=not isinstance(reason, ssl.SSLError))
    except TimeoutError:
        return Problem(f"no answer{by} within {HEALTH_SECONDS:g} s")
    except ssl.SSLError as error:
        return Problem(f"no answer{by}: {error}", mends_itself=False)
    except (OSError, http.client.HTTPException) as error:
        return Problem(f"no answer{by}: {error or type(error).__name__}")
    except ValueError as error:
        return Problem(f"no answer{by}: {error}", mends_itself=False)


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; None: none, as always for loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _without_user(proxy: str) -> str:
    return proxy.rpartition("@")[2]
