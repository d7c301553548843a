#!/usr/bin/env python3
"""The running composition, from outside: it gets well, serves the page, takes a call through the
published port, and ends in order. EARSHOT_PRESET=asan: of sanitized programs.

usage: compose_smoke.py STATE  under tests/tools/container-engine.sh, which starts it and cleans up
       compose_smoke.py        what runs there
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime

from stun_probe import probe, probe_tcp

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
OFFER = os.path.join(HERE, "../corpus/offers/chromium-156-audio-dc.sdp")
PAGE = f"http://127.0.0.1:{os.environ.get('HTTP_PORT')}"
MEDIA = ("127.0.0.1", int(os.environ.get("RELAY_UDP_PORT", 0)))
SERVICES = ("relay", "inference-stub", "transceiver", "signaling")
STOP_ORDER = (
    ("signaling", "transceiver"), ("transceiver", "relay"), ("transceiver", "inference-stub"),
)
WELL_S_MAX = 60
KEY_S_MAX = 5


def say(text):
    print(text, flush=True)


def claim(text, holds, seen=""):
    say(f"{'ok  ' if holds else 'FAIL'} {text}: {seen}")
    if not holds:
        sys.exit(1)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compose_command():
    has_plugin = subprocess.run(["docker", "compose", "version"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, check=False).returncode == 0
    return ["docker", "compose"] if has_plugin else ["docker-compose"]


def states():
    """{service: State} as the engine tells it."""
    project = os.environ["COMPOSE_PROJECT_NAME"]
    label = f"label=com.docker.compose.project={project}"
    ids = output("docker", "ps", "-aq", "--filter", label).split()
    return {c["Config"]["Labels"]["com.docker.compose.service"]: c["State"]
            for c in json.loads(output("docker", "inspect", *ids))}


def moment(text):
    """Docker's nanoseconds, as far as Python goes."""
    return datetime.fromisoformat(
        re.sub(r"(\.\d{1,6})\d*Z|Z", lambda m: (m[1] or ".0").ljust(7, "0"), text))


def request(path, body=None, **headers):
    """(status, headers, text)"""
    asked = urllib.request.Request(PAGE + path, data=body,
                                   headers={"Content-Type": "application/sdp", **headers})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.status, answer.headers, answer.read().decode()


def it_gets_well():
    deadline = time.monotonic() + WELL_S_MAX
    now = states()
    while any(now[s].get("Health", {}).get("Status") != "healthy" for s in SERVICES):
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
        now = states()
    health = {s: now[s].get("Health", {}).get("Status") for s in SERVICES}
    claim("every service is healthy", set(health.values()) == {"healthy"}, health)
    claim("the keys were made", now["keys"]["ExitCode"] == 0, now["keys"]["Status"])
    took = moment(now["signaling"]["StartedAt"]) - moment(now["keys"]["StartedAt"])
    say(f"     signaling runs {took.total_seconds():.1f} s after the keys")


def the_programs_are_of(preset):
    linked = {s: output(*compose_command(), "exec", "-T", s, "ldd", f"/usr/bin/earshot-{s}")
              for s in SERVICES}
    sanitized = {s for s in SERVICES if "libasan" in linked[s]}
    claim(f"the programs are of the {preset} preset",
          sanitized == (set(SERVICES) if preset == "asan" else set()), sanitized)


def the_page_is_there():
    status, _, text = request("/")
    claim("the page is served", status == 200 and "earshot" in text, f"{len(text)} characters")
    status, _, text = request("/readyz")
    claim("signaling is ready", status == 200, text.split("\n"))


def field(sdp, name):
    return re.search(rf"^a={name}:(\S+)", sdp, re.M)[1]


def refusal(path, body, **headers):
    """The status of an answer that is none of success."""
    try:
        request(path, body, **headers)
    except urllib.error.HTTPError as error:
        return error.code
    return None


def it_counts_soon(offer, bearer):
    """Signaling sees within a second that its file of keys has a new line."""
    deadline = time.monotonic() + KEY_S_MAX
    while refusal("/v1/realtime/client_secrets", b"", **bearer) and time.monotonic() < deadline:
        time.sleep(0.2)
    return request("/v1/realtime/calls", offer, **bearer)


def an_offer_is_answered():
    """The server's answer, after the checks a browser would begin with."""
    with open(OFFER, "rb") as file:
        offer = file.read()
    key = output(*compose_command(), "run", "--rm", "-T", "keys", "api-keys", "add",
                 "/var/lib/earshot/keys/api/keys", "smoke").strip()
    bearer = {"Authorization": f"Bearer {key}"}
    claim("without a key nobody calls", refusal("/v1/realtime/calls", offer) == 401)
    status, headers, answer = it_counts_soon(offer, bearer)
    claim("an offer is answered", status == 201, headers["Location"])
    candidates = re.findall(r"^a=candidate:\S+ 1 (\w+) \d+ (\S+) (\d+)", answer, re.M)
    claim("the answer names the published address",
          candidates == [(transport, MEDIA[0], str(MEDIA[1])) for transport in ("udp", "tcp")],
          candidates)
    username = f"{field(answer, 'ice-ufrag')}:{field(offer.decode(), 'ice-ufrag')}"
    password = field(answer, "ice-pwd")
    seen = probe(MEDIA, username, password)
    claim("the transceiver answers through the published port", seen is not None, seen)
    seen = probe_tcp(MEDIA, username, password)
    claim("and over TCP", seen is not None, seen)
    claim("and only to whom has the password", probe(MEDIA, username, password[::-1], 4) is None)
    status, _, _ = request(headers["Location"] + "/hangup", b"", **bearer)
    claim("the call is hung up", status == 200, status)


def a_browser_talks():
    subprocess.run(["node", os.path.join(HERE, "compose_call.mjs")], check=True,
                   env={**os.environ, "EARSHOT_PAGE": f"{PAGE}/"})


def it_ends_in_order():
    subprocess.run([*compose_command(), "stop"], check=True)
    now = states()
    codes = {s: now[s]["ExitCode"] for s in SERVICES}
    claim("every service ends by itself", set(codes.values()) == {0}, codes)
    logs = output(*compose_command(), "logs", "--no-color")
    finding = re.search(r"(ERROR: \w+Sanitizer|runtime error:).*", logs)
    claim("no sanitizer found anything", finding is None, finding and finding[0])
    ends = {s: moment(now[s]["FinishedAt"]) for s in SERVICES}
    for first, then in STOP_ORDER:
        claim(f"{first} ends before {then}", ends[first] <= ends[then],
              str(ends[then] - ends[first]))


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as seeker:
        seeker.bind(("127.0.0.1", 0))
        return str(seeker.getsockname()[1])


def start_under_the_engine(state):
    """On ports that are free, beside whatever runs here; so it is also shown that they move."""
    preset = "asan" if os.environ.get("EARSHOT_PRESET") == "asan" else "release"
    say(f"     images of the {preset} preset")
    os.environ.update(EARSHOT_PRESET=preset, RELAY_UDP_PORT=free_port(socket.SOCK_DGRAM),
                      HTTP_PORT=free_port(socket.SOCK_STREAM),
                      SUBNET_PREFIX="198.19", STUB_MODE="echo", EARSHOT_TAG=f"smoke-{preset}")
    engine = os.path.join(ROOT, "tests/tools/container-engine.sh")
    os.execv(engine, [engine, "-s", state, "-C", ROOT, "-f", "docker-compose.yml",
                      "-f", "docker-compose.ci.yml",
                      "--", sys.executable, "-B", os.path.abspath(__file__)])


if __name__ == "__main__":
    if len(sys.argv) == 2:
        start_under_the_engine(sys.argv[1])
    it_gets_well()
    the_programs_are_of(os.environ["EARSHOT_PRESET"])
    the_page_is_there()
    an_offer_is_answered()
    a_browser_talks()
    it_ends_in_order()
