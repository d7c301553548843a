"""The unit of docs/deployment.md: systemd understands it, it keeps all that a relay gives, and what
the page says to install is what it starts, with variables that the shipped configuration reads."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "earshot-relay")
INTERNAL_PORTS, MEMORY = 16, 1
SOCKETS_OF_A_LARGE_RELAY = 16 * 2  # workers, two address families


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


section = re.search(r"\n## systemd\n(.*?)\n## ", read("docs/deployment.md"), re.DOTALL).group(1)
commands, text = re.search(r"```\n(.*?)```.*?```ini\n(.*?)```", section, re.DOTALL).groups()
value = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
assert int(value["FileDescriptorStoreMax"]) >= SOCKETS_OF_A_LARGE_RELAY + INTERNAL_PORTS + MEMORY
assert (value["Type"], value["RestartKillSignal"]) == ("notify", "SIGUSR2")
# A unit that gives up closes what it keeps.
assert value["StartLimitIntervalSec"] == "0"

program, _, config = value["ExecStart"].split()
assert f"build/release/bin/earshot-relay {os.path.dirname(program)}/" in commands
assert f"config/local/relay.yaml {config}\n" in commands
assert re.search(rf"^useradd .* {value['User']}$", commands, re.MULTILINE)
variables = dict(re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE))
assert f"{variables['EARSHOT_KEYS']}/media/\n" in commands
known = set(re.findall(r"\$\{(\w+):", read("config/local/relay.yaml")))
assert variables.keys() <= known, variables.keys() - known
assert {"EARSHOT_MEDIA_1", "EARSHOT_RELAY_INTERNAL", "EARSHOT_RELAY_CONTROL",
        "EARSHOT_TRANSCEIVER_NETWORK_1"} <= variables.keys()  # by default: loopback
shipped = os.path.join(ROOT, "config/local/relay.yaml")
subprocess.run([PROGRAM, "--check-config", "--config", shipped], env=variables, check=True)

if shutil.which("systemd-analyze") is None:
    print("the unit was read, not verified: there is no systemd-analyze here")
    sys.exit(77)
text = text.replace("/usr/bin/earshot-relay", PROGRAM).replace("User=earshot", "User=daemon")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "earshot-relay.service")
    with open(path, "w") as file:
        file.write(text)
    result = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True)
# Other units of this machine may be at fault, and are named too.
about_it = [line for line in result.stderr.splitlines() if "earshot" in line]
assert not about_it, result.stderr
