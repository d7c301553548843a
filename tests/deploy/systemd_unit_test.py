"""The unit of docs/deployment.md: systemd understands it, and it keeps all that a relay gives."""

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


def unit():
    with open(os.path.join(ROOT, "docs/deployment.md")) as file:
        return re.search(r"## systemd\n.*?```ini\n(.*?)```", file.read(), re.DOTALL).group(1)


text = unit()
value = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
assert int(value["FileDescriptorStoreMax"]) >= SOCKETS_OF_A_LARGE_RELAY + INTERNAL_PORTS + MEMORY
assert (value["Type"], value["RestartKillSignal"]) == ("notify", "SIGUSR2")

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
