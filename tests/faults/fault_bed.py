"""The bed that faults are measured in: real processes, real calls, a network of its own.

A Bed runs earshot's four services inside the namespace that in_namespace.sh made, so that ports are
fixed and a load of the machine's other networks is not seen. Calls are those of fault_caller; an
ear sits before the voice agent (agent_tap.py). A gap is the longest time in which a call delivered
no speech, downward at the client and upward at the agent.
"""

import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from agent_tap import AgentTap

PROGRAMS = sys.argv.pop(1)
SEED = int(os.environ.get("EARSHOT_SEED", "1"))
PUBLIC = "10.77.0.1"
PATIENCE_S = 45
SOUNDS_S = 0.3  # a call whose latest speech is older is not heard
SETTLE_S = 0.5  # and it is well when it was heard for so long

# A sanitizer keeps what was freed for a while: little of it, where memory is measured.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"

AGENT, TAP, HTTP = ("127.0.0.1", 7200), ("127.0.0.1", 7201), ("127.0.0.1", 8080)


def text_of(address):
    return "%s:%d" % address


def wait_until(what, holds, patience_s=PATIENCE_S):
    deadline_s = time.monotonic() + patience_s
    while not (answer := holds()):
        assert time.monotonic() < deadline_s, f"never came: {what}"
        time.sleep(0.01)
    return answer


def report(name, values, target):
    """The line that a fault's test is read by; the median and the worst of `values`."""
    median, worst = statistics.median(values), max(values)
    print(f"{name}: median {median:.0f} ms, worst {worst:.0f} ms of {len(values)}, "
          f"target {target} ms, seed {SEED}", flush=True)
    return median, worst


class Service:
    """One process, which can be killed and started again with the same or another configuration."""

    def __init__(self, bed, program, name=None, admin=("127.0.0.1", 7800), **config):
        self.bed, self.program, self.name, self.admin = bed, program, name or program, admin
        self.config = {"admin_listen": text_of(admin), **config}
        self.process = None

    def start(self):
        path = self.bed.path(f"{self.name}.yaml")
        with open(path, "w") as file:
            json.dump(self.config, file)  # JSON is YAML
        with open(self.bed.path("log"), "a") as log:
            program = os.path.join(PROGRAMS, f"earshot-{self.program}")
            self.process = self.spawn(program, ["--config", path], log)

    @staticmethod
    def spawn(program, arguments, log):
        """A test may put a supervisor's in its place."""
        return subprocess.Popen([program, *arguments], stderr=log, stdin=subprocess.DEVNULL)

    def kill(self):
        """kill -9; returns when its ports are free."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def restart(self, **config):
        self.kill()
        self.config.update(config)
        self.start()

    def get(self, path):
        """(status, text); (0, "") while nobody listens."""
        try:
            with urllib.request.urlopen(f"http://{text_of(self.admin)}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def wait_until_ready(self):
        wait_until(f"{self.name} is ready", lambda: self.get("/readyz")[0] == 200)

    def metric(self, name, *words):
        """The sum of the samples whose labels hold all the words."""
        total = 0
        for line in self.get("/metrics")[1].splitlines():
            sample, _, value = line.rpartition(" ")
            if sample.partition("{")[0] == name and all(word in sample for word in words):
                total += float(value)
        return total


class Caller:
    """fault_caller: the clients."""

    def __init__(self, talking, listened):
        self.process = subprocess.Popen(
            [os.path.join(PROGRAMS, "fault_caller"), PUBLIC, str(SEED), str(talking),
             str(listened)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.offers = [bytes.fromhex(self.process.stdout.readline().split()[2])
                       for _ in range(talking + listened)]

    def tell(self, *words):
        """The lines in answer to an order, as lists of words."""
        self.process.stdin.write(" ".join(words) + "\n")
        lines = []
        while (line := self.process.stdout.readline().split()) != ["done"]:
            assert line, "fault_caller ended"
            lines.append(line)
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Call:
    def __init__(self, number, call_id, is_talking):
        self.number, self.id, self.is_talking = number, call_id, is_talking


class Gap:
    """Longest silences of one call, in milliseconds; down is None where nobody talks down."""

    def __init__(self, call, down_ms, up_ms):
        self.call, self.down_ms, self.up_ms = call, down_ms, up_ms


class Bed:
    def __init__(self, talking=10, listened=10, relay=None, relays=1):
        self.folder = tempfile.mkdtemp(prefix="earshot-fault-")
        init = [os.path.join(PROGRAMS, "earshotctl"), "keys", "init", "--api-keys",
                self.path("api-keys"), self.path("media"), self.path("signaling")]
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
        self.tap = AgentTap(TAP, AGENT)
        self.relays = [self.make_relay(i, **(relay or {})) for i in range(relays)]
        self.relay = self.relays[0]
        self.stub = Service(self, "inference-stub", admin=("127.0.0.1", 7804),
                            listen=text_of(AGENT), mode="tone")
        self.transceiver = Service(
            self, "transceiver", admin=("127.0.0.1", 7802), keys=self.path("media"),
            address="127.0.0.1", backend=text_of(TAP),
            announce=[f"{self.control_ip(i)}:7102" for i in range(relays)] + ["127.0.0.1:7101"])
        self.signaling = Service(
            self, "signaling", admin=("127.0.0.1", 7803), keys=self.path("signaling"), auth="off",
            limits={"offers_per_s_per_tenant": 0, "offers_per_s_per_address": 0}, web="",
            http={"listen": text_of(HTTP)}, control_listen="127.0.0.1:7101",
            ingress=[{"name": "first", "udp": f"{PUBLIC}:3478"}])
        self.services = [self.stub, *self.relays, self.transceiver, self.signaling]
        self.calls = []
        self.spare = talking  # the offer of the new call at the end
        self.caller = Caller(talking + 1, listened)
        self.talking = talking

    @staticmethod
    def control_ip(i):
        return f"127.0.0.{1 + i}"

    def make_relay(self, i, **config):
        """The first is where answers point; others stand beside it for traffic that moves."""
        ip = PUBLIC if i == 0 else f"10.77.0.{10 + i}"
        if i > 0:
            subprocess.run(["ip", "addr", "add", f"{ip}/24", "dev", "earshot0"], check=True)
        values = {"workers": 2, "socket_buffer": "1MB", **config}
        return Service(self, "relay", name=f"relay{i}", admin=(self.control_ip(i), 7801),
                       keys=self.path("media"), listen=[f"{ip}:3478"],
                       internal=f"{self.control_ip(i)}:3500", allow_private_clients=True,
                       transceiver_networks=["127.0.0.0/8"],
                       control_listen=f"tcp://{self.control_ip(i)}:7102", **values)

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self):
        with open(self.path("log")) as file:
            return file.read()

    def __enter__(self):
        for service in self.services:
            service.start()
        for service in self.services:
            service.wait_until_ready()
        for number in range(len(self.caller.offers)):
            if number != self.spare:
                self.calls.append(self.place_call(number))
        self.wait_until_all_sound()
        return self

    def __exit__(self, kind, *_):
        self.caller.close()
        for service in self.services:
            service.kill()
        if kind is not None:
            print("\n".join(self.log().splitlines()[-60:]), flush=True)
        shutil.rmtree(self.folder)

    # --- calls -----------------------------------------------------------------------------------

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection(*HTTP, timeout=PATIENCE_S)
        connection.request(method, path, body, {"Content-Type": "application/sdp"} if body else {})
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def place_call(self, number):
        answer = self.request("POST", "/v1/realtime/calls", self.caller.offers[number])
        assert answer.status == 201, (answer.status, answer.body)
        self.caller.tell("answer", str(number), answer.body.hex())
        call_id = answer.headers["Location"].rpartition("/")[2]
        return Call(number, call_id, number <= self.spare)

    def look(self):
        """{call: (age of the latest speech down, up)} in seconds, and the longest gaps in it."""
        told = {int(line[1]): line for line in self.caller.tell("tell")}
        out = {}
        for call in self.calls:
            line, ear = told[call.number], self.tap.ears.get(call.id)
            down_s = int(line[6]) / 1e6 if call.is_talking else 0
            up_s = ear.age_s() if ear is not None else float("inf")
            gap = Gap(call, int(line[5]) / 1e3 if call.is_talking else None,
                      1e3 * max(ear.gap_s, up_s) if ear is not None else None)
            out[call] = (max(down_s, up_s), gap)
        return out

    def wait_until_all_sound(self):
        """Every call was heard, both ways, for a while."""
        since_s = time.monotonic()

        def holds():
            nonlocal since_s
            if max(age_s for age_s, _ in self.look().values()) > SOUNDS_S:
                since_s = time.monotonic()
            return time.monotonic() - since_s >= SETTLE_S
        wait_until("all calls are heard", holds)

    def gaps(self, harm):
        """Does harm, waits until all calls are well again, and says what each of them missed."""
        self.tap.mark()
        self.caller.tell("mark")
        harm()
        self.wait_until_all_sound()
        return [gap for _, gap in self.look().values()]

    # --- what must hold in the end ---------------------------------------------------------------

    def finish(self):
        """A new call works, all calls end once, and nothing was sent that should not have been."""
        call = self.place_call(self.spare)
        self.calls.append(call)
        self.wait_until_all_sound()
        transceiver = self.transceiver
        created = transceiver.metric("earshot_transceiver_sessions_created_total")
        assert created == len(self.calls), created
        assert transceiver.metric("earshot_transceiver_sessions_active") == created
        for call in self.calls:
            answer = self.request("DELETE", f"/v1/realtime/calls/{call.id}")
            assert answer.status in (200, 204), answer.status
        wait_until("all calls end", lambda: transceiver.metric(
            "earshot_transceiver_sessions_ended_total") == created)
        wait_until("none is left", lambda: transceiver.metric(
            "earshot_transceiver_sessions_active") == 0)
        for verdict in ("srtp_refused", "stun_refused", "unknown_kind"):
            count = transceiver.metric("earshot_transceiver_datagrams_total", f'"{verdict}"')
            assert count == 0, (verdict, count)
        assert "Sanitizer" not in self.log() and "runtime error:" not in self.log()
