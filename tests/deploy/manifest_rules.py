"""What must hold in every rendered overlay, and no schema knows. A rule yields what breaks it."""

import ipaddress
import os
import re

from manifests import (ROOT, base_name, configuration, container, environment, expand, name, pod,
                       pod_labels, title, yaml)

RINGS = {"earshot-keys": {"relay", "transceiver"}, "earshot-signaling-keys": {"signaling"},
         "earshot-api-keys": {"signaling"}}
PUBLIC_SERVICES = {"relay", "signaling"}
ADMIN_PORTS = {7801, 7802, 7803, 7804}
GRACE_MARGIN_S = 5
SIGNALING_DRAIN_S = 30  # DRAIN_US_MAX in services/signaling/main.c
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
DNS_PEER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
            "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}
IMAGE_VARIABLES = {"EARSHOT_KEYS", "EARSHOT_WEB"}  # set in docker/Dockerfile


# --- names that refer -----------------------------------------------------------------------------

def selectors_select_their_pods(m):
    for d in m.of_kind("Deployment"):
        labels = pod_labels(d).items()
        if not d["spec"]["selector"]["matchLabels"].items() <= labels:
            yield f"{title(d)}: its selector is not in the labels of its pods"
        for spread in pod(d).get("topologySpreadConstraints", []):
            if not spread["labelSelector"]["matchLabels"].items() <= labels:
                yield f"{title(d)}: a spread constraint counts other pods"
    for kind in ("Service", "PodDisruptionBudget"):
        for d in m.of_kind(kind):
            selector = d["spec"]["selector"]
            if len(m.selected(selector.get("matchLabels", selector))) != 1:
                yield f"{title(d)}: selects no Deployment, or several"


def services_lead_to_ports(m):
    for service in m.of_kind("Service"):
        for deployment in m.selected(service["spec"]["selector"]):
            there = {(p["name"], p.get("protocol", "TCP")) for p in container(deployment)["ports"]}
            for port in service["spec"]["ports"]:
                if (port["targetPort"], port.get("protocol", "TCP")) not in there:
                    yield f"{title(service)}: {port['name']} leads to no port of {name(deployment)}"


def what_is_referred_to_exists(m):
    for d in m.of_kind("Deployment"):
        for volume in pod(d).get("volumes", []):
            secret = volume.get("secret", {}).get("secretName")
            config_map = volume.get("configMap", {}).get("name")
            # The cluster's Secrets are made by hand: they have to have one of these names.
            if secret and not m.find("Secret", secret) and not (
                    m.overlay == "cluster" and secret in RINGS):
                yield f"{title(d)}: no Secret {secret}"
            if config_map and not any(name(c) == config_map for c in m.of_kind("ConfigMap")):
                yield f"{title(d)}: no ConfigMap {config_map}"
        volumes = {v["name"] for v in pod(d).get("volumes", [])}
        for mount in container(d).get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield f"{title(d)}: no volume {mount['name']}"
        for entry in container(d).get("env", []):
            source = entry.get("valueFrom", {}).get("configMapKeyRef")
            if source and not any(name(c) == source["name"] and source["key"] in c["data"]
                                  for c in m.of_kind("ConfigMap")):
                yield f"{title(d)}: {entry['name']}: no {source['key']} in {source['name']}"


def dialled_names_are_services(m):
    for d in m.of_kind("Deployment"):
        for entry in container(d).get("env", []):
            target = re.fullmatch(r"(?:redis://)?([a-z][a-z-]*):(\d+)", str(entry.get("value", "")))
            if not target:
                continue
            service = m.find("Service", target[1])
            ports = [p["port"] for p in service["spec"]["ports"]] if service else []
            if int(target[2]) not in ports:
                yield f"{title(d)}: {entry['name']}: no Service {target[1]} with port {target[2]}"
            elif entry["name"].endswith("_CONTROL") and not (
                    service["spec"].get("clusterIP") == "None" and
                    service["spec"].get("publishNotReadyAddresses")):
                yield f"{title(service)}: must be headless and name pods that are not ready yet"


def variables_are_those_of_the_configuration(m):
    for d in m.services():
        known = set(re.findall(r"\$\{(\w+)", configuration(m, d))) | IMAGE_VARIABLES
        seen = set()
        for entry in container(d).get("env", []):
            if entry["name"].startswith("EARSHOT_") and entry["name"] not in known:
                yield f"{title(d)}: nothing reads {entry['name']}"
            for used in re.findall(r"\$\((\w+)\)", str(entry.get("value", ""))):
                if used not in seen:
                    yield f"{title(d)}: {entry['name']} uses {used} before it is set"
            seen.add(entry["name"])


def container_ports_are_those_of_the_configuration(m):
    for d in m.services():
        text = expand(configuration(m, d), environment(m, d))
        said = [int(number) for number in re.findall(r"[: ](\d{2,5})\b", text)]
        numbers = [port["containerPort"] for port in container(d)["ports"]]
        for port in container(d)["ports"]:  # UDP and TCP may share a number: it is said twice
            number = port["containerPort"]
            if said.count(number) < numbers.count(number):
                yield f"{title(d)}: its configuration has no port {port['containerPort']}"


# --- who may reach whom ---------------------------------------------------------------------------

def documented_ports(m):
    """The table of docs/deployment.md: {(pod, protocol, first, last): who}."""
    with open(os.path.join(ROOT, "docs/deployment.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| ([a-z-]+) \| (UDP|TCP) (\d+)(?:-(\d+))? \| (\w[\w-]*) \|",
                          file.read(), re.M)
    table = {(p, protocol, int(first), int(last or first)): who
             for p, protocol, first, last, who in rows}
    if m.overlay == "local":
        table[("signaling", "TCP", 8080, 8080)] = "anyone"
    return table


def peer_name(m, peer):
    if set(peer) == {"ipBlock"}:
        return peer["ipBlock"]["cidr"]
    if set(peer) == {"podSelector"}:
        pods = m.selected(peer["podSelector"].get("matchLabels", {}))
        return name(pods[0]) if len(pods) == 1 else f"nobody knows {peer}"
    if peer == DNS_PEER:
        return "dns"
    for access in ("ingress", "monitoring"):
        if peer == {"namespaceSelector": {"matchLabels": {"earshot-access": access}}}:
            return access
    return f"nobody knows {peer}"


def admissions(m, direction, side):
    """[(pod, protocol, first, last, peer)] of all policies."""
    found = []
    for policy in m.of_kind("NetworkPolicy"):
        selector = policy["spec"]["podSelector"].get("matchLabels")
        for rule in policy["spec"].get(direction, []):
            pods = m.selected(selector) if selector else m.of_kind("Deployment")
            for p in pods or [None]:
                for port in rule.get("ports", [{"port": 0, "endPort": 65535}]):
                    for peer in rule.get(side, [{}]):
                        found.append((name(p) if p else "nobody", port.get("protocol", "TCP"),
                                      port["port"], port.get("endPort", port["port"]),
                                      peer_name(m, peer)))
    return found


def differences(what, found, expected):
    for entry in sorted(set(found) | set(expected)):
        if found.count(entry) != (entry in expected):
            yield f"{what}: {entry} is admitted {found.count(entry)} times"


def policies_admit_the_documented_ports(m):
    table = documented_ports(m)
    ingress, egress = [], []
    for (p, protocol, first, last), who in table.items():
        peers = ("0.0.0.0/0", "::/0") if who == "anyone" else (who,)
        ingress += [(p, protocol, first, last, peer) for peer in peers]
        if m.find("Deployment", who):
            egress.append((who, protocol, first, last, p))
    egress += [(asks, protocol, 53, 53, "dns") for asks in ("transceiver", "relay")
               for protocol in ("UDP", "TCP")]
    yield from differences("ingress", admissions(m, "ingress", "from"), ingress)
    yield from differences("egress", admissions(m, "egress", "to"), egress)


def everything_else_is_denied(m):
    if not any(p["spec"]["podSelector"] == {} and
               set(p["spec"]["policyTypes"]) == {"Ingress", "Egress"} and
               "ingress" not in p["spec"] and "egress" not in p["spec"]
               for p in m.of_kind("NetworkPolicy")):
        yield "no policy denies by default, in both directions"


def only_relay_and_signaling_are_public(m):
    for service in m.of_kind("Service"):
        spec = service["spec"]
        is_public = spec.get("type", "ClusterIP") != "ClusterIP"
        if is_public and name(service) not in PUBLIC_SERVICES:
            yield f"{title(service)}: is public"
        for deployment in m.selected(spec["selector"]):
            numbers = {p["name"]: p["containerPort"] for p in container(deployment)["ports"]}
            for port in spec["ports"]:
                if is_public and {port["port"], numbers.get(port["targetPort"])} & ADMIN_PORTS:
                    yield f"{title(service)}: makes the admin port public"
        if spec.get("sessionAffinity", "None") != "None":
            yield f"{title(service)}: session affinity unbalances clients behind one address"
    for ingress in m.of_kind("Ingress"):
        yield f"{title(ingress)}: signaling has no authentication"


def the_advertised_address_is_the_relays(m):
    relay = m.find("Service", "relay")["spec"]
    site = m.find("ConfigMap", "earshot-site")["data"]
    keys = {"media-udp": ("media_address", "UDP"), "media-tcp": ("media_tcp_address", "TCP")}
    for public in relay["ports"]:
        key, protocol = keys[public["name"]]
        ip, port = site[key].rsplit(":", 1)
        if int(port) != public.get("nodePort", public["port"]) or public["protocol"] != protocol:
            yield f"{key} names port {port}, the Service relay has another"
        if relay.get("loadBalancerIP", ip) != ip:
            yield f"{key} names {ip}, the Service relay asks for {relay['loadBalancerIP']}"
    if relay.get("externalTrafficPolicy") != "Local":
        yield "Service/relay: hides the clients' addresses"


# --- keys -----------------------------------------------------------------------------------------

def rings_are_where_they_belong(m):
    for d in m.of_kind("Deployment"):
        secrets = {v["name"]: v["secret"] for v in pod(d).get("volumes", []) if "secret" in v}
        for secret in secrets.values():
            if name(d) not in RINGS.get(secret["secretName"], ()):
                yield f"{title(d)}: has the ring {secret['secretName']}"
            if secret.get("defaultMode") != 0o400:
                yield f"{title(d)}: keys are not 0400"
        for mount in container(d).get("volumeMounts", []):
            if "subPath" in mount:
                yield f"{title(d)}: a subPath is never updated"
            if mount["name"] in secrets and not mount.get("readOnly"):
                yield f"{title(d)}: keys can be written"
        for entry in container(d).get("env", []):
            if "secretKeyRef" in entry.get("valueFrom", {}):
                yield f"{title(d)}: a secret in the variable {entry['name']}"
        if "envFrom" in container(d):
            yield f"{title(d)}: envFrom, which nobody can check"
    for ring, holders in RINGS.items():
        for holder in holders:
            volumes = pod(m.find("Deployment", holder))["volumes"]
            if ring not in [v.get("secret", {}).get("secretName") for v in volumes]:
                yield f"Deployment/{holder}: lacks the ring {ring}"


def strangers_bring_a_key(m):
    """Where anybody may come: no key for the asking, and limits for those who have one."""
    values = {e["name"]: e for e in container(m.find("Deployment", "signaling"))["env"]}
    demo = values.get("EARSHOT_DEMO", {}).get("valueFrom", {}).get("configMapKeyRef", {})
    if demo.get("key") != "demo":
        yield "Deployment/signaling: the demo is not for site.env to decide"
    given = m.find("ConfigMap", "earshot-site")["data"].get("demo")
    if given not in ("true", "false") or (m.overlay == "cluster" and given == "true"):
        yield f"site.env: demo={given}"
    for limit in ("EARSHOT_OFFERS_PER_TENANT", "EARSHOT_OFFERS_PER_SECRET"):
        if int(values.get(limit, {}).get("value", 0)) == 0:
            yield f"Deployment/signaling: {limit} is no limit"


# --- life and end ---------------------------------------------------------------------------------

def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)(us|ms|s|m|h)", duration).groups()
    return int(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}[unit]


def grace_outlasts_the_drain(m):
    for d in m.services():
        config = yaml.safe_load(expand(configuration(m, d), environment(m, d))) or {}
        drain_s = seconds(config.get("drain_timeout", "0s"))
        if name(d) == "signaling":
            drain_s = SIGNALING_DRAIN_S
        grace_s = pod(d).get("terminationGracePeriodSeconds", 30)
        if grace_s <= drain_s + GRACE_MARGIN_S:
            yield f"{title(d)}: is killed after {grace_s} s, drains for {drain_s} s"
        if "lifecycle" in container(d):
            yield f"{title(d)}: waits outside of the drain"


def disruption_budgets_leave_room(m):
    for d in m.of_kind("Deployment"):
        budgets = [b["spec"] for b in m.of_kind("PodDisruptionBudget")
                   if d in m.selected(b["spec"]["selector"]["matchLabels"])]
        if len(budgets) != 1:
            yield f"{title(d)}: has {len(budgets)} disruption budgets"
        for budget in budgets:
            if budget.get("maxUnavailable") != 1 or "minAvailable" in budget:
                yield f"{title(d)}: its disruption budget is not one at a time"
            if budget.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
                yield f"{title(d)}: a pod that is ill holds up a drain"


def rollouts_lose_nobody(m):
    for d in m.of_kind("Deployment"):
        rolling = d["spec"].get("strategy", {}).get("rollingUpdate", {})
        if rolling != {"maxSurge": 1, "maxUnavailable": 0}:
            yield f"{title(d)}: a rollout takes a pod before its successor is ready"
        if d["spec"].get("minReadySeconds", 0) < 10:
            yield f"{title(d)}: a new pod counts before it is known"
        spreads = pod(d).get("topologySpreadConstraints", [])
        if "kubernetes.io/hostname" not in [s["topologyKey"] for s in spreads]:
            yield f"{title(d)}: all of its pods may be on one host"
        for spread in spreads:
            is_strict = spread["whenUnsatisfiable"] == "DoNotSchedule"
            if is_strict and spread.get("matchLabelKeys") != ["pod-template-hash"]:
                yield f"{title(d)}: the pod that a rollout adds finds no host"
    for k in ("StatefulSet", "DaemonSet"):
        for d in m.of_kind(k):
            yield f"{title(d)}: an hour of drain would hold up its rollout"


def probes_ask_the_admin_port(m):
    expected = {
        "startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz",
    }
    for d in m.services():
        for probe, path in expected.items():
            asked = container(d).get(probe, {}).get("httpGet", {})
            if (asked.get("path"), asked.get("port")) != (path, "admin"):
                yield f"{title(d)}: {probe} does not ask for {path}"


# --- rights and resources -------------------------------------------------------------------------

def must_be(d, where, values, expected):
    for key, value in expected.items():
        if values.get(key) != value:
            yield f"{title(d)}: {where}{key} is {values.get(key)}, not {value}"


def pods_have_no_rights(m):
    for d in m.of_kind("Deployment"):
        yield from must_be(d, "", pod(d), {
            "automountServiceAccountToken": False, "enableServiceLinks": False,
            "hostNetwork": None, "hostPID": None, "hostIPC": None, "initContainers": None})
        yield from must_be(d, "pod.", pod(d).get("securityContext", {}), {
            "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"}})
        for c in pod(d)["containers"]:
            yield from must_be(d, "container.", c.get("securityContext", {}), {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]}, "privileged": None, "runAsUser": None})
        for volume in pod(d).get("volumes", []):
            if set(volume) - {"name", "configMap", "secret"}:
                yield f"{title(d)}: volume {volume['name']} is neither configuration nor keys"
        if len(pod(d)["containers"]) != 1:
            yield f"{title(d)}: has another container than its own"
    for namespace in m.of_kind("Namespace"):
        labels = namespace["metadata"]["labels"]
        if labels.get("pod-security.kubernetes.io/enforce") != "restricted":
            yield f"{title(namespace)}: admits pods with more rights"


def resources_are_bounded(m):
    for d in m.of_kind("Deployment"):
        resources = container(d).get("resources", {})
        requests, limits = resources.get("requests", {}), resources.get("limits", {})
        if "memory" not in limits or limits.get("memory") != requests.get("memory"):
            yield f"{title(d)}: memory asked for is not the memory allowed"
        if "cpu" not in requests:
            yield f"{title(d)}: asks for no CPU"
        if name(d) in ("relay", "transceiver") and m.overlay != "local":
            if requests != limits or not str(limits.get("cpu")).isdigit():
                yield f"{title(d)}: a quota that is no whole CPU is jitter"


def meshes_keep_off(m):
    for workload in ("relay", "transceiver"):
        template = m.find("Deployment", workload)["spec"]["template"]
        notes = template["metadata"].get("annotations", {})
        if (notes.get("sidecar.istio.io/inject") != "false"
                or notes.get("linkerd.io/inject") != "disabled"):
            yield f"Deployment/{workload}: a mesh may put a proxy before media"


# --- values that a schema takes for good ----------------------------------------------------------

def port_numbers(document):
    keys = {"port", "endPort", "containerPort", "nodePort", "hostPort"}
    if isinstance(document, dict):
        for key, value in document.items():
            if key in keys and isinstance(value, int):
                yield value
            yield from port_numbers(value)
    if isinstance(document, list):
        for value in document:
            yield from port_numbers(value)


def names_and_numbers_are_possible(m):
    for d in m.documents:
        if not DNS_NAME.fullmatch(d["metadata"]["name"]):
            yield f"{title(d)}: not a DNS name"
        if d["kind"] != "Namespace" and d["metadata"].get("namespace") != "earshot":
            yield f"{title(d)}: in another namespace"
        for port in port_numbers(d):
            if not 1 <= port <= 65535:
                yield f"{title(d)}: port {port}"
    for *_, peer in admissions(m, "ingress", "from") + admissions(m, "egress", "to"):
        if "/" in peer and not is_network(peer):
            yield f"{peer} is no network"
    if not is_network(m.find("ConfigMap", "earshot-site")["data"]["pod_network"]):
        yield "site.env: pod_network is no network"


def is_network(text):
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def redis_is_a_cache(m):
    """One, that keeps nothing and has a bound; relays use it, and are ready without it."""
    redis = m.find("Deployment", "redis")
    words = container(redis)["args"]
    options = dict(zip(words[::2], words[1::2]))
    for key, value in {"--save": "", "--appendonly": "no", "--maxmemory": "64mb",
                       "--maxmemory-policy": "volatile-ttl"}.items():
        if options.get(key) != value:
            yield f"{title(redis)}: {key} is {options.get(key)}"
    if redis["spec"]["replicas"] != 1 or pod(redis).get("volumes"):
        yield f"{title(redis)}: is more than a cache"
    if environment(m, m.find("Deployment", "relay")).get("EARSHOT_FLOW_CACHE") is None:
        yield "Deployment/relay: has no flow cache"


def images_are_pinned(m):
    for d in m.of_kind("Deployment"):
        image = container(d)["image"]
        tag = image.rsplit("/", 1)[-1].partition(":")[2]
        if not tag or tag == "latest":
            yield f"{title(d)}: image {image} is not pinned"


def exactly_these_objects(m):
    if {base_name(d) for d in m.of_kind("Deployment")} != {"relay", "transceiver", "signaling",
                                                         "inference-stub", "redis"}:
        yield "the Deployments are others than the four services and Redis"
    scalers = {"HorizontalPodAutoscaler", "ScaledObject"}
    for kind in sorted(scalers & {d["kind"] for d in m.documents}):
        yield f"{kind}: write the rule of one scaler for each target first"


RULES = [
    selectors_select_their_pods, services_lead_to_ports, what_is_referred_to_exists,
    dialled_names_are_services, variables_are_those_of_the_configuration,
    container_ports_are_those_of_the_configuration, policies_admit_the_documented_ports,
    everything_else_is_denied, only_relay_and_signaling_are_public,
    the_advertised_address_is_the_relays, rings_are_where_they_belong, strangers_bring_a_key,
    grace_outlasts_the_drain, disruption_budgets_leave_room, rollouts_lose_nobody,
    probes_ask_the_admin_port,
    pods_have_no_rights, resources_are_bounded, meshes_keep_off, names_and_numbers_are_possible,
    redis_is_a_cache, images_are_pinned, exactly_these_objects,
]
