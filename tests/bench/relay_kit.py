#!/usr/bin/env python3
"""The relay beside other relays, under a kit that brings them and its own load.

    relay_kit.py PROGRAMS KIT [--repeats N]

PROGRAMS is the folder of our programs. KIT holds compare.sh, which runs forwarders one after the
other in a network of its own and writes a line of key=value for each burst; it is built in a folder
that goes again. Prints JSON lines. A ratio is made of two bursts of one run, next to each other.

Its table of client counts is not run: it connects a million clients faster than a relay believes
strangers (stranger_gate.h), and waits 50 ms for each that has to ask again. relay_bench has those.
"""

import argparse
import fcntl
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ADAPTER = "relay_kit_adapter"
FIFO_US_MAX = 10000000
NEAREST = 8  # bursts away: further apart the machine may be in another mood

# What is run: the kit's table, its own variants, ours.
REFERENCES = ("saturation", ("mmsg", "gso", "gso-pad"), ("relay", "relay-singly"))
PEERS = ("saturation", ("gso-pad", "go", "go-batch", "nginx", "coturn"), ("relay",))
LATENCY = ("latency", ("bare", "mmsg", "mmsg-gather", "mmsg-spin", "gso-pad", "go", "go-batch",
                       "nginx", "coturn"),
           ("relay", "relay-singly", "relay-gather", "relay-poll"))

# (variant, baseline): the goal of the ratio, and what is better.
RATIO_GOALS = {
    ("relay", "bare"): ("at_most", 0.65), ("relay-singly", "bare"): ("at_most", 1.10),
    ("relay", "gso-pad"): ("at_most", 1.05), ("relay-singly", "mmsg"): ("at_most", 1.05),
    ("go", "relay"): ("at_least", 3.5), ("go-batch", "relay"): ("at_least", 1.6),
    ("coturn", "relay"): ("at_least", 5), ("nginx", "relay"): ("at_least", 5),
}
ADDED_US_GOALS = {"relay-poll": 15, "relay-gather": 150}


def say(figure, unit, values, **more):
    line = {"bench": "relay_kit", "figure": figure, "unit": unit,
            "median": round(statistics.median(values), 3), "min": round(min(values), 3),
            "max": round(max(values), 3), "repeats": len(values), **more}
    print(json.dumps(line), flush=True)


def goal(kind, value):
    return {"goal": value, "goal_is": kind}


def read_bursts(path):
    """One dict for each burst, in their order; numbers where they are some."""
    bursts = []
    with open(path) as file:
        for line in file:
            burst = {}
            for pair in line.split():
                key, value = pair.split("=", 1)
                burst[key] = value if key == "name" else float(value)
            bursts.append(burst)
    return bursts


def wait_for_turn():
    """Two loads on the same CPUs measure each other: as own_network.h, until we end."""
    lock = open("/tmp/earshot-bench.lock", "a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def bound_priority():
    """What takes a CPU of real-time priority and never sleeps is ended by the kernel."""
    resource.setrlimit(resource.RLIMIT_RTTIME, (FIFO_US_MAX, FIFO_US_MAX))


class Kit:
    def __init__(self, programs, kit, scratch, repeats):
        self.kit, self.scratch, self.repeats = kit, scratch, repeats
        self.environment = {**os.environ, "RB_BUILD": os.path.join(scratch, "build")}
        self.adapter = os.path.join(programs, ADAPTER)

    def link(self, name):
        """The adapter acts by the name that it is called by."""
        path = os.path.join(self.scratch, name)
        if not os.path.islink(path):
            os.symlink(self.adapter, path)
        return f"{name}={path}"

    def run(self, plan):
        table, theirs, ours = plan
        raw = os.path.join(self.scratch, "raw")
        if os.path.exists(raw):
            os.unlink(raw)
        command = [os.path.join(self.kit, "compare.sh"), "--table", table, "--keep", raw,
                   "--rounds", str(self.repeats), "--only", ",".join(theirs)]
        for name in ours:
            command += ["--extra", self.link(name)]
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=bound_priority)
        return read_bursts(raw)


def nearest(bursts, at, name):
    """The burst of that name next to this one, with as many clients."""
    for distance in range(1, NEAREST + 1):
        for i in (at - distance, at + distance):
            if 0 <= i < len(bursts) and bursts[i]["name"] == name and \
                    bursts[i]["flows"] == bursts[at]["flows"]:
                return bursts[i]
    return None


def ratios(bursts, name, baseline):
    out = []
    for at, burst in enumerate(bursts):
        other = nearest(bursts, at, baseline) if burst["name"] == name else None
        if other is not None:
            out.append(burst["cpu_ns"] / other["cpu_ns"])
    return out


def values(bursts, name, key):
    return [burst[key] for burst in bursts if burst["name"] == name]


def names(bursts):
    return list(dict.fromkeys(burst["name"] for burst in bursts))


def facts(bursts, name):
    """What must hold for a figure to mean something."""
    return {"busy": round(statistics.median(values(bursts, name, "busy")), 2),
            "lost_percent": round(statistics.median(values(bursts, name, "loss_pct")), 3),
            "wrong": int(sum(values(bursts, name, "malformed") +
                             values(bursts, name, "misrouted")))}


def say_costs(bursts, baselines):
    for name in names(bursts):
        say(name, "ns", values(bursts, name, "cpu_ns"), **facts(bursts, name))
    for name in names(bursts):
        for baseline in baselines:
            found = ratios(bursts, name, baseline) if name != baseline else []
            wanted = RATIO_GOALS.get((name, baseline))
            if found and (wanted or baseline == "bare"):
                say(name, "ratio", found, baseline=baseline, **(goal(*wanted) if wanted else {}))


def say_latency(bursts):
    direct = statistics.median(values(bursts, "direct", "p50_us"))
    for name in names(bursts):
        p50 = values(bursts, name, "p50_us")
        wanted = ADDED_US_GOALS.get(name)
        say(f"{name}_p50", "us", p50)
        say(f"{name}_added_p50", "us", [value - direct for value in p50],
            **(goal("at_most", wanted) if wanted else {}))
        say(f"{name}_p99", "us", values(bursts, name, "p99_us"))
        say(f"{name}_20khz", "ns", values(bursts, name, "cpu_ns"), **facts(bursts, name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("kit")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    kit_path = os.path.realpath(options.kit)
    if not os.path.exists(os.path.join(kit_path, "compare.sh")):
        sys.exit(f"relay_kit: {kit_path} holds no compare.sh")
    lock = wait_for_turn()
    with lock, tempfile.TemporaryDirectory(prefix="earshot-kit-") as scratch:
        kit = Kit(os.path.realpath(options.programs), kit_path, scratch, options.repeats)
        say_costs(kit.run(REFERENCES), ("bare", "gso-pad", "mmsg"))
        say_costs(kit.run(PEERS), ("bare", "relay", "gso-pad"))
        say_latency(kit.run(LATENCY))


if __name__ == "__main__":
    main()
