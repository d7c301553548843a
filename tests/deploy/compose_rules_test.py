#!/usr/bin/env python3
"""The composition keeps every rule, also with moved ports; every rule refuses its mutants; and the
services accept their configuration in it."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import compose_rules as rules
from compose_rules import SERVICES, Compose
from manifests import ROOT

PROGRAMS = sys.argv.pop(1)
MOVED = {"PUBLIC_IP": "192.0.2.2", "RELAY_UDP_PORT": "13478", "HTTP_IP": "192.0.2.3",
         "HTTP_PORT": "18080", "STUB_MODE": "echo", "SUBNET_PREFIX": "198.19", "EARSHOT_TAG": "7"}


def set_in(service, *path_and_value):
    def change(c):
        where = c.services[service]
        *path, last, value = path_and_value
        for step in path:
            where = where[step]
        where[last] = value
    return change


def replace(attribute, old, new):
    def change(c):
        text = getattr(c, attribute)
        assert old in text, old
        setattr(c, attribute, text.replace(old, new, 1))
    return change


MUTANTS = {
    rules.redis_is_a_cache_that_only_relays_reach: [
        set_in("relay", "environment", "EARSHOT_FLOW_CACHE", ""),
        set_in("redis", "command", ["--save", "60 1"]),
        set_in("redis", "ports", ["6379:6379"]),
        set_in("redis", "volumes", ["flows:/data"]),
        set_in("redis", "healthcheck", {"test": ["CMD", "true"]}),
    ],
    rules.only_what_both_versions_know: [
        lambda c: c.document.update(version="3.9"),
        set_in("relay", "container_name", "relay"),
        set_in("relay", "deploy", {"replicas": 2}),
        lambda c: c.ci["services"]["relay"].update(ports=["1:1"]),
        lambda c: c.ci["services"].pop("keys"),
    ],
    rules.containers_have_no_rights: [
        set_in("relay", "user", "root"), set_in("relay", "read_only", False),
        set_in("relay", "cap_drop", []), set_in("relay", "cap_add", ["NET_ADMIN"]),
        set_in("relay", "security_opt", []), set_in("relay", "privileged", True),
        set_in("relay", "network_mode", "host"), set_in("keys", "network_mode", "bridge"),
        set_in("relay", "logging", {"driver": "json-file"}), set_in("keys", "restart", "always"),
    ],
    rules.each_says_how_it_is: [
        set_in("relay", "healthcheck", "test", "earshot-relay --health"),
        set_in("relay", "healthcheck", {"test": ["CMD", "earshot-relay", "--health"]}),
    ],
    rules.they_start_in_order: [
        set_in("relay", "depends_on", "transceiver", {"condition": "service_started"}),
        set_in("signaling", "depends_on", "transceiver", "condition", "service_started"),
        lambda c: c.services["transceiver"].pop("depends_on"),
    ],
    rules.grace_outlasts_the_drain: [
        lambda c: c.services["relay"].pop("stop_grace_period"),
        set_in("transceiver", "environment", "EARSHOT_DRAIN_TIMEOUT", "1h"),
        set_in("signaling", "stop_grace_period", "35s"),
    ],
    rules.networks_are_separate: [
        set_in("inference-stub", "networks", ["backend", "edge"]),
        set_in("redis", "networks", ["inside"]),
        lambda c: c.document["networks"]["inside"].update(internal=False),
    ],
    rules.one_media_port_inside_outside_and_advertised: [
        set_in("signaling", "environment", "EARSHOT_MEDIA_1", "127.0.0.1:3479"),
        set_in("relay", "environment", "EARSHOT_MEDIA_1", "10.77.0.10:3479"),
        set_in("relay", "environment", "EARSHOT_MEDIA_1", "10.77.0.11:3478"),
        set_in("relay", "environment", "EARSHOT_MEDIA_TCP_1", "10.77.0.10:443"),
        set_in("relay", "environment", "EARSHOT_MEDIA_TCP_1", "0.0.0.0:3478"),
        set_in("signaling", "environment", "EARSHOT_MEDIA_TCP_1", "127.0.0.1:443"),
        set_in("relay", "ports", ["3478:3478/udp", "3478:3478"]),
        set_in("relay", "ports", ["127.0.0.1:3478:3478/udp"]),
        set_in("transceiver", "ports", ["7802:7802"]),
        replace("text", "- ${HTTP_IP:-127.0.0.1}:${HTTP_PORT:-8080}:8080", "- 8080:8080"),
    ],
    rules.rings_are_where_they_belong: [
        set_in("signaling", "volumes", ["media-keys:/var/lib/earshot/keys/media:ro"]),
        set_in("relay", "volumes", ["media-keys:/var/lib/earshot/keys/media"]),
        set_in("signaling", "volumes", ["signaling-keys:/var/lib/earshot/keys/signaling:ro"]),
        set_in("inference-stub", "volumes", ["media-keys:/var/lib/earshot/keys/media:ro"]),
    ],
    rules.variables_are_those_of_the_configuration: [
        set_in("relay", "environment", "EARSHOT_MEDIA", "10.77.0.10:3478"),
    ],
    rules.images_are_built_from_pinned_targets: [
        set_in("relay", "build", "target", "relay"),
        set_in("relay", "image", "earshot/relay:latest"),
        set_in("relay", "image", "earshot"),
        replace("dockerfile", 'USER 65532:65532\nENTRYPOINT ["earshot-relay"]',
                'ENTRYPOINT ["earshot-relay"]'),
        replace("dockerfile", "# earshot", "# syntax=docker/dockerfile:1\n# earshot"),
        replace("dockerfile", "COPY --from=builder", "COPY --from=alpine"),
        replace("dockerfile", "COPY web web", "ADD https://example.org/web web"),
    ],
    rules.the_builder_has_the_packages_of_dev: [
        replace("dockerfile", "libnng-dev ", ""),
        replace("dockerfile", "libnng-dev ", "libnng-dev curl "),
    ],
}


class ComposeRules(unittest.TestCase):
    def test_the_composition_keeps_every_rule(self):
        for variables in ({}, MOVED):
            for rule in rules.RULES:
                with self.subTest(rule=rule.__name__, variables=variables):
                    self.assertEqual(list(rule(Compose(**variables))), [])

    def test_every_rule_refuses_its_mutants(self):
        self.assertEqual(set(rules.RULES), set(MUTANTS))
        for rule, mutants in MUTANTS.items():
            for number, change in enumerate(mutants):
                with self.subTest(rule=rule.__name__, mutant=number):
                    mutant = Compose().copy()
                    change(mutant)
                    self.assertNotEqual(list(rule(mutant)), [])

    def test_every_variable_moves_something(self):
        self.assertEqual(set(re.findall(r"\$\{(\w+)", Compose().text)), set(MOVED))
        for variable, value in MOVED.items():
            with self.subTest(variable=variable):
                self.assertNotEqual(Compose(**{variable: value}).document, Compose().document)

    def test_every_service_accepts_its_configuration(self):
        for service in sorted(SERVICES):
            environment = Compose().services[service]["environment"]
            config = os.path.join(ROOT, f"config/local/{service}.yaml")
            program = os.path.join(PROGRAMS, f"earshot-{service}")
            done = subprocess.run(
                [program, "--config", config, "--check-config"],
                env=environment, stderr=subprocess.PIPE, text=True, check=False)
            with self.subTest(service=service):
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("docker-compose"), "no docker-compose")
    def test_docker_compose_takes_it(self):
        for files in (["docker-compose.yml"], ["docker-compose.yml", "docker-compose.ci.yml"]):
            options = [word for file in files for word in ("-f", file)]
            done = subprocess.run(["docker-compose", *options, "config", "-q"], cwd=ROOT,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Page(unittest.TestCase):
    """docs/deployment.md names the images that are built, and those that the manifests want."""

    def setUp(self):
        with open(os.path.join(ROOT, "docs/deployment.md")) as file:
            self.page = file.read()
        base = os.path.join(ROOT, "k8s/base")
        self.wanted = set()
        for name in os.listdir(base):
            with open(os.path.join(base, name)) as file:
                self.wanted |= set(re.findall(r"image: earshot/([a-z-]+)", file.read()))

    def test_as_many_images_are_built_as_it_says(self):
        count = {4: "four", 5: "five", 6: "six", 7: "seven"}
        with open(os.path.join(ROOT, "docker-compose.yml")) as file:
            built = set(re.findall(r"image: earshot/([a-z-]+)", file.read()))
        self.assertLess(self.wanted, built)
        self.assertIn(f"It builds {count[len(built)]} images", self.page)

    def test_every_image_of_the_manifests_is_pushed_and_loaded(self):
        pushed = re.search(r"First push the .*?\((.*?)\)", self.page, re.DOTALL)[1]
        self.assertEqual(set(pushed.split(", ")), self.wanted)
        loaded = re.search(r"for s in (.*?); do kind load", self.page)[1]
        self.assertEqual(set(loaded.split()), self.wanted)


if __name__ == "__main__":
    unittest.main()
