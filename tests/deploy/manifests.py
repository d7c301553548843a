"""Rendered manifests as plain objects, and what the tests ask of them."""

import copy
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
OVERLAYS = ("local", "cluster")
KUBECTL_MINOR_MIN = 21
POD_IP = "10.244.1.7"


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(SKIPPED)


try:
    import yaml
except ImportError:
    skip("python3 has no module yaml (Debian: python3-yaml)")


def require_kubectl():
    if shutil.which("kubectl") is None:
        skip("no kubectl: kustomize is in kubectl 1.21 and newer, which Debian 12 does not have")
    answer = subprocess.run(["kubectl", "version", "--client", "-o", "json"],
                            capture_output=True, text=True, check=True).stdout
    version = re.search(r'"gitVersion": "v1\.(\d+)', answer)
    if version is None or int(version[1]) < KUBECTL_MINOR_MIN:
        skip(f"kubectl is older than 1.{KUBECTL_MINOR_MIN}")


def render(overlay, programs, folder):
    """What `kubectl kustomize` makes of a copy of the tree, with new keys in the local overlay."""
    require_kubectl()
    tree = os.path.join(folder, overlay)
    for part in ("k8s", "config"):
        shutil.copytree(os.path.join(ROOT, part), os.path.join(tree, part),
                        ignore=shutil.ignore_patterns("keys"))
    keys = os.path.join(tree, "k8s/overlays/local/keys")
    os.mkdir(keys)
    subprocess.run([os.path.join(programs, "earshotctl"), "keys", "init",
                    "--api-keys", f"{keys}/api/keys", f"{keys}/media",
                    f"{keys}/signaling"], stdout=subprocess.DEVNULL, check=True)
    return subprocess.run(["kubectl", "kustomize", os.path.join(tree, "k8s/overlays", overlay)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


class Manifests:
    def __init__(self, overlay, text):
        self.overlay = overlay
        self.documents = list(yaml.safe_load_all(text))

    def copy(self):
        return copy.deepcopy(self)

    def of_kind(self, kind):
        return [d for d in self.documents if d["kind"] == kind]

    def services(self):
        """The Deployments of our own programs."""
        return [d for d in self.of_kind("Deployment") if d["metadata"]["name"] != "redis"]

    def find(self, kind, name):
        """The object, or None. ConfigMaps are also found by their name without the hash."""
        for d in self.of_kind(kind):
            if d["metadata"]["name"] == name or base_name(d) == name:
                return d
        return None

    def selected(self, selector):
        """The Deployments whose pods have these labels."""
        return [d for d in self.of_kind("Deployment")
                if selector.items() <= pod_labels(d).items()]


def base_name(document):
    name = document["metadata"]["name"]
    return re.sub(r"-[a-z0-9]{10}$", "", name) if document["kind"] == "ConfigMap" else name


def title(document):
    return f"{document['kind']}/{base_name(document)}"


def name(document):
    return document["metadata"]["name"]


def pod(deployment):
    return deployment["spec"]["template"]["spec"]


def pod_labels(deployment):
    return deployment["spec"]["template"]["metadata"]["labels"]


def container(deployment):
    return pod(deployment)["containers"][0]


def variable(deployment, wanted):
    """The entry of this environment variable, or None."""
    for entry in container(deployment).get("env", []):
        if entry["name"] == wanted:
            return entry
    return None


def environment(m, deployment):
    """The variables of a pod as Kubernetes would set them; of what is missing, nothing."""
    values = {}
    for entry in container(deployment).get("env", []):
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            value = POD_IP
        elif "resourceFieldRef" in source:
            kind, what = source["resourceFieldRef"]["resource"].split(".")
            value = container(deployment)["resources"][kind][what]
        elif "configMapKeyRef" in source:
            config_map = m.find("ConfigMap", source["configMapKeyRef"]["name"])
            value = (config_map or {"data": {}})["data"].get(source["configMapKeyRef"]["key"], "")
        else:
            value = entry.get("value", "")
        values[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda ref: values.get(ref[1], ref[0]),
                                       str(value))
    return values


def configuration_files(m, deployment):
    """What is mounted as /etc/earshot: name to text."""
    for volume in pod(deployment).get("volumes", []):
        if volume["name"] == "config":
            config_map = m.find("ConfigMap", volume["configMap"]["name"])
            return config_map["data"] if config_map else {}
    return {}


def configuration(m, deployment):
    """The YAML text of the service itself."""
    return configuration_files(m, deployment).get(f"{name(deployment)}.yaml", "")


def expand(text, values):
    """${NAME:-default} as earshot replaces it."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda v: values.get(v[1]) or v[2], text)
