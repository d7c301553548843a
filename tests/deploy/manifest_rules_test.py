#!/usr/bin/env python3
"""Every overlay keeps every rule, and every rule refuses each change that it is there for."""

import sys
import tempfile
import unittest

import manifest_rules as rules
from manifests import OVERLAYS, Manifests, container, pod, render, require_kubectl, variable

PROGRAMS = sys.argv.pop(1)


def deployment(m, which):
    return m.find("Deployment", which)


def set_at(where, *path_and_value):
    *path, last, value = path_and_value
    for step in path:
        where = where[step]
    where[last] = value


def drop(m, kind, which):
    m.documents.remove(m.find(kind, which))


def relabel(m):
    template = deployment(m, "relay")["spec"]["template"]
    template["metadata"]["labels"] = {"app.kubernetes.io/name": "x"}


def spread(m, which, **values):
    pod(deployment(m, which))["topologySpreadConstraints"][0].update(values)


def policy(m, which, direction, index):
    return m.find("NetworkPolicy", which)["spec"][direction][index]


def env(m, which, wanted, value):
    entry = variable(deployment(m, which), wanted)
    entry.pop("valueFrom", None)
    entry["value"] = value


def env_to_end(m, which, wanted):
    entries = container(deployment(m, which))["env"]
    entries.append(entries.pop(entries.index(variable(deployment(m, which), wanted))))


def volume(m, which, index):
    return pod(deployment(m, which))["volumes"][index]


def set_in_pod(which, *path_and_value):
    return lambda m: set_at(pod(deployment(m, which)), *path_and_value)


def set_in_container(which, *path_and_value):
    return lambda m: set_at(container(deployment(m, which)), *path_and_value)


def set_in(kind, which, *path_and_value):
    return lambda m: set_at(m.find(kind, which), *path_and_value)


def second_policy(m):
    again = m.copy().find("NetworkPolicy", "relay")
    again["metadata"]["name"] = "relay-again"
    m.documents.append(again)


def add(**document):
    metadata = {"name": "x", "namespace": "earshot"}
    return lambda m: m.documents.append({"metadata": dict(metadata), **document})


# rule: the changes that it refuses, in the overlay cluster
MUTANTS = {
    rules.selectors_select_their_pods: [
        relabel,
        lambda m: spread(m, "relay", labelSelector={"matchLabels": {"app": "relay"}}),
        set_in("Service", "relay", "spec", "selector", {"app.kubernetes.io/name": "relais"}),
        set_in("Service", "relay", "spec", "selector", {"app.kubernetes.io/part-of": "earshot"}),
        set_in("PodDisruptionBudget", "relay", "spec", "selector", {"matchLabels": {"a": "b"}}),
    ],
    rules.services_lead_to_ports: [
        set_in("Service", "relay", "spec", "ports", 0, "targetPort", "media"),
        set_in("Service", "relay", "spec", "ports", 1, "targetPort", "tcp"),
    ],
    rules.strangers_bring_a_key: [
        set_in("ConfigMap", "earshot-site", "data", "demo", "true"),
        set_in("ConfigMap", "earshot-site", "data", "demo", "no"),
        lambda m: set_at(variable(deployment(m, "signaling"), "EARSHOT_DEMO"),
                         "valueFrom", "configMapKeyRef", "key", "private_clients"),
        lambda m: set_at(variable(deployment(m, "signaling"), "EARSHOT_OFFERS_PER_TENANT"),
                         "value", "0"),
    ],
    rules.what_is_referred_to_exists: [
        lambda m: drop(m, "ConfigMap", "relay-config"),
        lambda m: set_at(volume(m, "relay", 0), "configMap", "name", "relay-config"),
        lambda m: set_at(volume(m, "relay", 1), "secret", "secretName", "earshot-ring"),
        set_in_container("relay", "volumeMounts", 0, "name", "configuration"),
        lambda m: set_at(variable(deployment(m, "signaling"), "EARSHOT_MEDIA_1"),
                         "valueFrom", "configMapKeyRef", "key", "address"),
    ],
    rules.dialled_names_are_services: [
        lambda m: env(m, "transceiver", "EARSHOT_RELAY_CONTROL", "relay:7102"),
        lambda m: env(m, "transceiver", "EARSHOT_BACKEND", "inference-stub:7201"),
        lambda m: env(m, "relay", "EARSHOT_FLOW_CACHE", "redis://redis:6380"),
        lambda m: env(m, "transceiver", "EARSHOT_SIGNALING_CONTROL", "signal-control:7101"),
        set_in("Service", "relay-control", "spec", "publishNotReadyAddresses", False),
        set_in("Service", "signaling-control", "spec", "clusterIP", None),
    ],
    rules.variables_are_those_of_the_configuration: [
        lambda m: set_at(
            variable(deployment(m, "relay"), "EARSHOT_MEDIA_1"), "name", "EARSHOT_MEDIA"),
        lambda m: env_to_end(m, "relay", "POD_IP"),
    ],
    rules.container_ports_are_those_of_the_configuration: [
        set_in_container("transceiver", "ports", 2, "containerPort", 7805),
        lambda m: env(m, "relay", "EARSHOT_MEDIA_1", "$(POD_IP):3479"),
    ],
    rules.policies_admit_the_documented_ports: [
        lambda m: set_at(policy(m, "relay", "ingress", 1), "ports", 0, "endPort", 3516),
        lambda m: set_at(policy(m, "relay", "ingress", 0), "ports", 0, "protocol", "TCP"),
        lambda m: m.find("NetworkPolicy", "relay")["spec"]["ingress"].pop(),
        lambda m: m.find("NetworkPolicy", "transceiver")["spec"]["egress"].pop(0),
        lambda m: policy(m, "relay", "ingress", 2).pop("from"),
        lambda m: policy(m, "relay", "egress", 0).pop("ports"),
        lambda m: m.find("NetworkPolicy", "inference-stub")["spec"].update(egress=[{}]),
        lambda m: set_at(policy(m, "signaling", "ingress", 1), "from", 0, "podSelector",
                         {"matchLabels": {"app.kubernetes.io/name": "transceivers"}}),
        lambda m: set_at(policy(m, "signaling", "ingress", 1), "from", 0, "namespaceSelector", {}),
        second_policy,
        set_in("NetworkPolicy", "relay", "spec", "podSelector", {}),
    ],
    rules.everything_else_is_denied: [
        lambda m: drop(m, "NetworkPolicy", "default-deny"),
        set_in("NetworkPolicy", "default-deny", "spec", "policyTypes", ["Ingress"]),
        set_in("NetworkPolicy", "default-deny", "spec", "egress", [{}]),
    ],
    rules.only_relay_and_signaling_are_public: [
        set_in("Service", "inference-stub", "spec", "type", "NodePort"),
        set_in("Service", "relay", "spec", "ports", 0, "targetPort", "admin"),
        set_in("Service", "relay", "spec", "sessionAffinity", "ClientIP"),
        add(kind="Ingress"),
    ],
    rules.the_advertised_address_is_the_relays: [
        set_in("ConfigMap", "earshot-site", "data", "media_address", "203.0.113.10:3479"),
        set_in("ConfigMap", "earshot-site", "data", "media_address", "203.0.113.11:3478"),
        set_in("ConfigMap", "earshot-site", "data", "media_tcp_address", "203.0.113.10:3478"),
        set_in("ConfigMap", "earshot-site", "data", "media_tcp_address", "203.0.113.11:443"),
        set_in("Service", "relay", "spec", "ports", 1, "protocol", "UDP"),
        set_in("Service", "relay", "spec", "externalTrafficPolicy", "Cluster"),
    ],
    rules.rings_are_where_they_belong: [
        lambda m: set_at(volume(m, "signaling", 1), "secret", "secretName", "earshot-keys"),
        lambda m: set_at(volume(m, "relay", 1), "secret", "defaultMode", 0o440),
        lambda m: pod(deployment(m, "relay"))["volumes"].pop(1),
        set_in_container("relay", "volumeMounts", 1, "subPath", "00.key"),
        set_in_container("relay", "volumeMounts", 1, "readOnly", False),
        set_in_container("relay", "envFrom", [{"secretRef": {"name": "earshot-keys"}}]),
        lambda m: set_at(variable(deployment(m, "relay"), "POD_IP"), "valueFrom",
                         {"secretKeyRef": {"name": "earshot-keys", "key": "active"}}),
    ],
    rules.grace_outlasts_the_drain: [
        set_in_pod("transceiver", "terminationGracePeriodSeconds", 3605),
        lambda m: env(m, "inference-stub", "EARSHOT_DRAIN_TIMEOUT", "2h"),
        set_in_pod("signaling", "terminationGracePeriodSeconds", 35),
        set_in_container("relay", "lifecycle", {"preStop": {"sleep": {"seconds": 5}}}),
    ],
    rules.disruption_budgets_leave_room: [
        set_in("PodDisruptionBudget", "relay", "spec", "maxUnavailable", 0),
        set_in("PodDisruptionBudget", "relay", "spec", "minAvailable", 2),
        set_in("PodDisruptionBudget", "relay",
               "spec", "unhealthyPodEvictionPolicy", "IfHealthyBudget"),
        lambda m: drop(m, "PodDisruptionBudget", "transceiver"),
    ],
    rules.rollouts_lose_nobody: [
        set_in("Deployment", "relay", "spec", "strategy", "rollingUpdate", "maxUnavailable", 1),
        set_in("Deployment", "relay", "spec", "minReadySeconds", 0),
        set_in_pod("signaling", "topologySpreadConstraints", []),
        lambda m: spread(m, "relay", matchLabelKeys=[]),
        add(kind="StatefulSet"),
    ],
    rules.probes_ask_the_admin_port: [
        lambda m: container(deployment(m, "relay")).pop("startupProbe"),
        set_in_container("relay", "livenessProbe", "httpGet", "path", "/readyz"),
        set_in_container("relay", "readinessProbe", "httpGet", "port", "announce"),
    ],
    rules.pods_have_no_rights: [
        set_in_pod("relay", "automountServiceAccountToken", True),
        set_in_pod("relay", "enableServiceLinks", True),
        set_in_pod("relay", "hostNetwork", True),
        set_in_pod("relay", "initContainers", [{"name": "x"}]),
        set_in_pod("relay", "securityContext", "runAsNonRoot", False),
        set_in_pod("relay", "securityContext", "runAsUser", 0),
        set_in_pod("relay", "securityContext", "fsGroup", 0),
        set_in_pod("relay", "securityContext", "seccompProfile", {"type": "Unconfined"}),
        set_in_container("relay", "securityContext", "allowPrivilegeEscalation", True),
        set_in_container("relay", "securityContext", "readOnlyRootFilesystem", False),
        set_in_container("relay", "securityContext", "capabilities", {"drop": ["NET_RAW"]}),
        set_in_container("relay", "securityContext", "privileged", True),
        lambda m: pod(deployment(m, "relay"))["volumes"].append({"name": "x", "hostPath": {}}),
        lambda m: pod(deployment(m, "relay"))["containers"].append({"name": "x"}),
        set_in("Namespace", "earshot", "metadata", "labels", {}),
    ],
    rules.resources_are_bounded: [
        lambda m: container(deployment(m, "signaling"))["resources"].pop("limits"),
        set_in_container("signaling", "resources", "limits", "memory", "1Gi"),
        lambda m: container(deployment(m, "signaling"))["resources"]["requests"].pop("cpu"),
        set_in_container("relay", "resources", {"requests": {"cpu": "1500m", "memory": "256Mi"},
                                                "limits": {"cpu": "1500m", "memory": "256Mi"}}),
        set_in_container("transceiver", "resources", "requests", "cpu", "1"),
    ],
    rules.meshes_keep_off: [
        set_in("Deployment", "relay", "spec", "template", "metadata", "annotations", {}),
    ],
    rules.names_and_numbers_are_possible: [
        set_in("Service", "relay", "metadata", "name", "Relay_1"),
        set_in("Service", "relay", "metadata", "namespace", "default"),
        set_in_container("relay", "ports", 0, "containerPort", 65536),
        set_in("Service", "relay", "spec", "ports", 0, "port", 0),
        lambda m: set_at(
            policy(m, "relay", "ingress", 0), "from", 0, "ipBlock", "cidr", "0.0.0.1/0"),
        set_in("ConfigMap", "earshot-site", "data", "pod_network", "10.0.0.0/33"),
    ],
    rules.redis_is_a_cache: [
        set_in_container("redis", "args", ["--save", "60 1"]),
        lambda m: set_at(deployment(m, "redis"), "spec", "replicas", 2),
        lambda m: set_at(variable(deployment(m, "relay"), "EARSHOT_FLOW_CACHE"), "name", "OTHER"),
    ],
    rules.images_are_pinned: [
        set_in_container("relay", "image", "registry.example:5000/earshot/relay"),
        set_in_container("relay", "image", "earshot/relay:latest"),
    ],
    rules.exactly_these_objects: [
        lambda m: drop(m, "Deployment", "inference-stub"),
        add(kind="HorizontalPodAutoscaler"),
    ],
}


class ManifestRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.rendered = {overlay: Manifests(overlay, render(overlay, PROGRAMS, folder))
                            for overlay in OVERLAYS}

    def test_every_overlay_keeps_every_rule(self):
        for overlay, manifests in self.rendered.items():
            for rule in rules.RULES:
                with self.subTest(overlay=overlay, rule=rule.__name__):
                    self.assertEqual(list(rule(manifests)), [])

    def test_every_rule_refuses_its_mutants(self):
        for rule, mutants in MUTANTS.items():
            for number, change in enumerate(mutants):
                with self.subTest(rule=rule.__name__, mutant=number):
                    mutant = self.rendered["cluster"].copy()
                    change(mutant)
                    self.assertNotEqual(list(rule(mutant)), [])

    def test_every_rule_has_a_mutant(self):
        self.assertEqual([r.__name__ for r in rules.RULES if not MUTANTS.get(r)], [])


if __name__ == "__main__":
    require_kubectl()
    unittest.main()
