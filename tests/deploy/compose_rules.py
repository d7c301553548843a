"""What must hold in docker-compose.yml and docker/Dockerfile. A rule yields what breaks it."""

import copy
import os
import re

from manifest_rules import GRACE_MARGIN_S, IMAGE_VARIABLES, SIGNALING_DRAIN_S, seconds
from manifests import ROOT, expand, yaml

# What each must outlive: it is stopped before them.
NEEDS = {
    "keys": set(), "redis": set(), "inference-stub": set(), "relay": {"keys"},
    "transceiver": {"relay", "inference-stub"}, "signaling": {"keys", "transceiver"},
}
NETWORKS = {
    "relay": {"edge", "inside", "cache"}, "redis": {"cache"}, "signaling": {"edge", "inside"},
    "transceiver": {"inside", "backend"}, "inference-stub": {"backend"},
}
RINGS = {"relay": ["media"], "transceiver": ["media"], "signaling": ["signaling", "api"]}
SERVICES = set(NETWORKS) - {"redis"}  # our own, but the one-shot


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Compose:
    """The composition as it is with these variables, and the Dockerfile."""

    def __init__(self, **variables):
        self.text = read("docker-compose.yml")
        self.document = yaml.safe_load(expand(self.text, variables))
        self.ci = yaml.safe_load(read("docker-compose.ci.yml"))
        self.dockerfile = read("docker/Dockerfile")
        self.services = self.document["services"]

    def copy(self):
        return copy.deepcopy(self)

    def configuration(self, service):
        values = {k: str(v) for k, v in self.services[service]["environment"].items()}
        return yaml.safe_load(expand(read(f"config/local/{service}.yaml"), values))


def only_what_both_versions_know(c):
    for key in set(c.document) - {"services", "networks", "volumes"}:
        if not key.startswith("x-"):
            yield f"top level: {key}"
    for name, service in c.services.items():
        for key in {"container_name", "develop", "configs", "extends", "deploy"} & set(service):
            yield f"{name}: {key}"
    for name, service in c.ci["services"].items():
        build = {"network": "host", "args": {"PRESET": "${EARSHOT_PRESET:-release}"}}
        environment = service.get("environment", {"EARSHOT_CORE_DUMPS": "true"})
        if service.get("build") != build or environment != {"EARSHOT_CORE_DUMPS": "true"}:
            yield f"ci: {name}: more than how it is built, and the dumps that a leak check needs"
        for key in set(service) - {"build", "environment"}:
            yield f"ci: {name}: {key}"
    if set(c.ci["services"]) != set(c.services):
        yield "ci: other services"


def containers_have_no_rights(c):
    for name, service in c.services.items():
        is_job = name == "keys"
        expected = {
            "user": "65532:65532", "read_only": True, "cap_drop": ["ALL"], "cap_add": None,
            "security_opt": ["no-new-privileges:true"], "privileged": None,
            "network_mode": "none" if is_job else None, "logging": {"driver": "local"},
            "restart": "no" if is_job else "unless-stopped",
        }
        for key, value in expected.items():
            if service.get(key) != value:
                yield f"{name}: {key} is {service.get(key)}"


def each_says_how_it_is(c):
    for name in SERVICES:
        service = c.services[name]
        if service["healthcheck"].get("test") != ["CMD", f"earshot-{name}", "--health"]:
            yield f"{name}: asked by another program than itself"
        for key in ("interval", "timeout", "retries"):
            if key not in service["healthcheck"]:
                yield f"{name}: healthcheck without {key}"


def they_start_in_order(c):
    for name, service in c.services.items():
        depends = service.get("depends_on", {})
        if set(depends) != NEEDS[name]:
            yield f"{name}: depends on {sorted(depends)}"
        for other, how in depends.items():
            wanted = "service_completed_successfully" if other == "keys" else "service_healthy"
            if how["condition"] != wanted:
                yield f"{name}: waits for {other} the wrong way"


def grace_outlasts_the_drain(c):
    for name in SERVICES:
        drain_s = seconds(str(c.configuration(name).get("drain_timeout", "0s")))
        drain_s = {"signaling": SIGNALING_DRAIN_S, "relay": 15}.get(name, drain_s)
        if seconds(c.services[name].get("stop_grace_period", "10s")) <= drain_s + GRACE_MARGIN_S:
            yield f"{name}: is killed while it drains"


def networks_are_separate(c):
    for name in NETWORKS:
        if set(c.services[name]["networks"]) != NETWORKS[name]:
            yield f"{name}: is on {sorted(c.services[name]['networks'])}"
    for name, network in c.document["networks"].items():
        if bool((network or {}).get("internal")) != (name != "edge"):
            yield f"network {name}: internal or not"


def one_media_port_inside_outside_and_advertised(c):
    relay, signaling = c.services["relay"], c.services["signaling"]
    published = [p for s in c.services.values() for p in s.get("ports", [])]
    if len(published) != 3 or len(relay["ports"]) != 2 or len(signaling["ports"]) != 1:
        yield f"published: {published}"
    for variable, suffix in (("EARSHOT_MEDIA_1", "/udp"), ("EARSHOT_MEDIA_TCP_1", "")):
        address, port = relay["environment"][variable].rsplit(":", 1)
        advertised = signaling["environment"][variable]
        if f"{advertised}:{port}{suffix}" not in relay["ports"]:
            yield f"published is {relay['ports']}, advertised {advertised}, inside it is {port}"
        if address != relay["networks"]["edge"]["ipv4_address"]:
            yield f"relay: listens on {address}"
    for line in re.findall(r"^      - (.*:\d+.*)$", c.text, re.M):
        if "${" not in line:
            yield f"a port of the machine that nobody can move: {line}"


def rings_are_where_they_belong(c):
    for name in SERVICES:
        wanted = [f"{ring}-keys:/var/lib/earshot/keys/{ring}:ro" for ring in RINGS.get(name, ())]
        if c.services[name].get("volumes", []) != wanted:
            yield f"{name}: mounts {c.services[name].get('volumes')}"


def variables_are_those_of_the_configuration(c):
    for name in SERVICES:
        known = set(re.findall(r"\$\{(\w+)", read(f"config/local/{name}.yaml"))) | IMAGE_VARIABLES
        for variable in set(c.services[name]["environment"]) - known:
            yield f"{name}: nothing reads {variable}"


def images_are_built_from_pinned_targets(c):
    stages = {s[1]: s[0] for s in re.findall(
        r"^(FROM \S+ AS (\S+)\n(?:(?!FROM ).*\n?)*)", c.dockerfile, re.M)}
    for name, service in c.services.items():
        target = service["build"]["target"]
        last = stages.get(target, "").rstrip().split("\n")[-2:]
        if last != ["USER 65532:65532", f'ENTRYPOINT ["{target}"]']:
            yield f"{name}: no target {target} that ends with its user and program"
        if service["image"].endswith((":latest", ":")) or ":" not in service["image"]:
            yield f"{name}: image {service['image']}"
    if "syntax=" in c.dockerfile:
        yield "Dockerfile: fetches another front end"
    if re.findall(r"\bCOPY --from=(?!builder\b)", c.dockerfile) or "ADD " in c.dockerfile:
        yield "Dockerfile: takes from elsewhere"


def the_builder_has_the_packages_of_dev(c):
    listed = re.search(r'^BUILD_PACKAGES="([^"]*)"', read("dev"), re.M)[1].split()
    install = re.search(r"AS builder\nRUN ((?:.*\\\n)*.*)", c.dockerfile)[1]
    installed = re.search(r"--no-install-recommends ((?:[^&])*)&&", install)[1]
    packages = set(installed.replace("\\", " ").split())
    for package in sorted(packages ^ (set(listed) - {"iproute2", "curl"})):
        yield f"{package}: in dev or in the Dockerfile, not in both"


def redis_is_a_cache_that_only_relays_reach(c):
    """Nobody depends on it, it keeps nothing, and its memory has a bound."""
    redis, url = c.services["redis"], c.services["relay"]["environment"].get("EARSHOT_FLOW_CACHE")
    if url != "redis://redis:6379":
        yield f"relay: its flow cache is {url}"
    options = dict(zip(redis["command"][::2], redis["command"][1::2]))
    for key, value in {"--save": "", "--appendonly": "no", "--maxmemory": "64mb",
                       "--maxmemory-policy": "volatile-ttl"}.items():
        if options.get(key) != value:
            yield f"redis: {key} is {options.get(key)}"
    if {"ports", "volumes"} & set(redis):
        yield "redis: is published, or keeps something"
    if redis["healthcheck"].get("test") != ["CMD", "redis-cli", "ping"]:
        yield "redis: asked by another program than its own"


RULES = [
    redis_is_a_cache_that_only_relays_reach, only_what_both_versions_know,
    containers_have_no_rights, each_says_how_it_is, they_start_in_order, grace_outlasts_the_drain,
    networks_are_separate, one_media_port_inside_outside_and_advertised,
    rings_are_where_they_belong, variables_are_those_of_the_configuration,
    images_are_built_from_pinned_targets, the_builder_has_the_packages_of_dev,
]
