"""The inference-stub as a process, on loopback: every mode, and everybody it must survive."""

import array
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import backend_wire as wire
from backend_wire import Wire
from free_port import free_port

PROGRAM = os.path.join(sys.argv.pop(1), "earshot-inference-stub")
PLENTY_US = 3600 * 10**6


class Stub:
    """A running stub; its log goes to a file that is read for the address it chose."""

    def __init__(self, folder, mode, options=(), **config):
        self.admin_port = free_port()
        values = {"listen": "127.0.0.1:0", "admin_listen": f"127.0.0.1:{self.admin_port}",
                  "mode": "parrot", **config}
        config_path = os.path.join(folder, "stub.yaml")
        self.log_path = os.path.join(folder, f"log{self.admin_port}")
        with open(config_path, "w") as file:
            file.writelines(f'{key}: "{value}"\n' if isinstance(value, str) else f"{key}: {value}\n"
                            for key, value in values.items())
        self.command = [PROGRAM, "--config", config_path, "--mode", mode, *options]
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(self.command, stderr=log)
        self.address = self.wait_for_address()

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def wait_for_address(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            for word in self.log().split():
                if word.startswith("address="):
                    host, port = word[8:].rsplit(":", 1)
                    return host, int(port)
                if word.startswith("path="):
                    return word[5:].strip('"')
            time.sleep(0.01)
        raise AssertionError(f"the stub did not start: {self.log()}")

    def get(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}{path}",
                                      timeout=5).read().decode()

    def metric(self, name):
        for line in self.get("/metrics").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name}")

    def wait_for_metric(self, name, value):
        deadline = time.monotonic() + 10
        while self.metric(name) != value:
            assert time.monotonic() < deadline, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.02)

    def wait_for_metric_at_least(self, name, value):
        deadline = time.monotonic() + 10
        while self.metric(name) < value:
            assert time.monotonic() < deadline, f"{name} is {self.metric(name)}, not {value}"
            time.sleep(0.02)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def pcm(samples):
    return array.array("h", samples).tobytes()


def samples_of(frames):
    samples = array.array("h")
    for frame in frames:
        samples.frombytes(frame.payload)
    return samples


def silence(rate_hz, ms):
    return [1, -1] * (rate_hz * ms // 2000)


def voice(rate_hz, ms):
    """A buzz of 150 Hz that rises and falls as syllables do."""
    return [round(6000 * abs(math.sin(math.pi * i / rate_hz / 0.25 + 0.3)) *
                  math.sin(2 * math.pi * 150 * i / rate_hz)) for i in range(rate_hz * ms // 1000)]


class StubTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_stub(self, mode, *options, **config):
        stub = Stub(self.folder, mode, options, **config)
        self.addCleanup(stub.stop)
        return stub

    def dial(self, stub, greet=True):
        connection = Wire(stub.address)
        self.addCleanup(connection.close)
        if greet:
            connection.greet()
        return connection

    def speak(self, connection, rate_khz, samples, session=1):
        step = rate_khz * 20
        for at in range(0, len(samples), step):
            connection.send(wire.AUDIO_IN, session, pcm(samples[at:at + step]), rate_khz=rate_khz)

    def hear_utterance(self, connection):
        frames = []
        while not frames or not frames[-1].flags & wire.LAST:
            frames.append(connection.hear_type(wire.AUDIO_OUT))
            self.assertEqual(frames[-1].utterance, frames[0].utterance)
        return frames

    # --- modes ---

    def test_an_echo_gives_every_sample_back_at_once(self):
        connection = self.dial(self.run_stub("echo"))
        accept = connection.start(credit_us=PLENTY_US)
        self.assertEqual(accept.json()["in"], "pcm16/24000")
        sent, heard = [], []
        for number in range(200):
            frame = [(number * 480 + i) % 30000 for i in range(480)]
            sent += frame
            self.speak(connection, 24, frame)
            # One frame goes in, one comes out: nothing is held back.
            heard.append(connection.hear_type(wire.AUDIO_OUT))
        self.assertEqual(list(samples_of(heard)), sent)
        self.assertEqual({frame.utterance for frame in heard}, {1})

    def test_a_tone_has_a_known_phase_and_keeps_to_the_credit(self):
        connection = self.dial(self.run_stub("tone", tone_hz=440))
        connection.start(credit_us=1_000_000)
        frames = [connection.hear_type(wire.AUDIO_OUT) for _ in range(10)]
        connection.credit(1, 1_500_000)
        frames += [connection.hear_type(wire.AUDIO_OUT) for _ in range(5)]
        samples = samples_of(frames)
        self.assertEqual(len(samples), 24000 * 3 // 2)
        for n, sample in enumerate(samples):
            self.assertAlmostEqual(sample, 8192 * math.sin(2 * math.pi * 440 * n / 24000), delta=1)

    def test_a_parrot_greets_and_says_the_turn_back(self):
        stub = self.run_stub("parrot")
        connection = self.dial(stub)
        accept = connection.start(credit_us=PLENTY_US)
        self.assertEqual(accept.json()["out"], "pcm16/16000")
        connection.send_json(wire.CONNECTED, 1, transport="udp", setup_ms=10)
        greeting = samples_of(self.hear_utterance(connection))
        self.assertGreater(len(greeting), 16000)
        self.assertGreater(max(greeting), 3000)
        connection.send_json(wire.PLAYBACK, 1, utterance=1, state="done", reason="played")
        spoken = voice(16000, 1000)
        self.speak(connection, 16, silence(16000, 1000) + spoken + silence(16000, 600))
        reply = self.hear_utterance(connection)
        self.assertEqual(reply[0].utterance, 2)
        self.assertIn(pcm(spoken), samples_of(reply).tobytes())
        self.assertEqual(stub.metric('earshot_stub_turns_total{outcome="said"}'), 1)

    def test_a_voice_over_the_reply_flushes_it(self):
        stub = self.run_stub("parrot")
        connection = self.dial(stub)
        connection.start(credit_us=PLENTY_US)
        connection.send_json(wire.CONNECTED, 1, transport="udp", setup_ms=10)
        self.hear_utterance(connection)
        self.speak(connection, 16, silence(16000, 1000) + voice(16000, 40))
        flush = connection.hear_type(wire.FLUSH)
        self.assertEqual((flush.session, flush.utterance), (1, 1))
        connection.send_json(wire.FLUSHED, 1, utterance=1, sent_us=1, heard_us=1, dropped_us=1)
        self.speak(connection, 16, voice(16000, 500) + silence(16000, 600))
        self.assertEqual(self.hear_utterance(connection)[0].utterance, 2)
        self.assertEqual(stub.metric("earshot_stub_barge_ins_total"), 1)

    def test_an_event_is_answered_with_an_error_event(self):
        connection = self.dial(self.run_stub("parrot"))
        connection.start()
        connection.send_json(wire.EVENT, 1, type="response.create", event_id="mine")
        answer = connection.hear_type(wire.EVENT).json()
        self.assertEqual(answer["type"], "error")
        self.assertTrue(answer["event_id"])
        self.assertEqual(answer["error"]["event_id"], "mine")

    # --- the agent ---

    def run_agent(self, **script):
        with open(os.path.join(self.folder, "agent.yaml"), "w") as file:
            file.writelines(f'{key}: "{value}"\n' for key, value in script.items())
        return self.run_stub("agent", agent_script="agent.yaml")

    def say(self, connection, event_type, **event):
        connection.send_json(wire.EVENT, 1, type=event_type, **event)

    def ask_to_count(self, connection, number):
        content = [{"type": "input_text", "text": f"count to {number}"}]
        self.say(connection, "conversation.item.create",
                 item={"type": "message", "role": "user", "content": content})
        self.say(connection, "response.create")

    def hear_event(self, connection, event_type):
        while True:
            event = connection.hear_type(wire.EVENT).json()
            if event["type"] == event_type:
                return event

    def test_an_agent_greets_counts_and_falls_silent(self):
        stub = self.run_agent(greeting="Hello there.")
        connection = self.dial(stub)
        accept = connection.start(credit_us=PLENTY_US)
        self.assertEqual(accept.json()["out"], "pcm16/16000")
        self.assertEqual(self.hear_event(connection, "session.created")["type"], "session.created")
        connection.send_json(wire.CONNECTED, 1, transport="udp", setup_ms=10)
        said = self.hear_event(connection, "response.output_audio_transcript.done")
        self.assertEqual(said["transcript"], "Hello there.")
        connection.send_json(wire.PLAYBACK, 1, utterance=1, state="started")
        self.hear_event(connection, "output_audio_buffer.started")
        connection.send_json(wire.PLAYBACK, 1, utterance=1, state="done", reason="played")
        self.ask_to_count(connection, 3)
        counted = samples_of(self.hear_utterance(connection))
        self.assertGreater(len(counted), 16000)
        self.assertGreater(max(counted), 3000)
        connection.send_json(wire.PLAYBACK, 1, utterance=2, state="started")
        self.speak(connection, 16, silence(16000, 1000) + voice(16000, 40))
        flush = connection.hear_type(wire.FLUSH)
        self.assertEqual((flush.session, flush.utterance), (1, 2))
        self.assertEqual(stub.metric("earshot_stub_agent_barge_ins_total"), 1)

    def test_a_loop_does_not_wait_for_a_voice(self):
        connection = self.dial(self.run_agent())
        connection.start(credit_us=PLENTY_US)
        self.ask_to_count(connection, 30)
        answered, frame = 0, None
        connection.send(wire.PING, payload=bytes(8))
        while frame is None or frame.type != wire.AUDIO_OUT:
            frame = connection.hear()
            if frame.type == wire.PONG:
                answered += 1
                connection.send(wire.PING, payload=bytes(8))
        self.assertGreater(answered, 3, "pings that were answered before the first sound")

    def test_a_bad_script_is_named_with_its_line(self):
        config_path, script_path = (os.path.join(self.folder, name)
                                    for name in ("stub.yaml", "bad.yaml"))
        with open(config_path, "w") as file:
            file.write("mode: agent\nagent_script: bad.yaml\n")
        with open(script_path, "w") as file:
            file.write("greeting: Hello.\nphrases:\n  time: It is {clock}.\n")
        for option in ([], ["--check-config"]):
            done = subprocess.run([PROGRAM, "--config", config_path, *option], capture_output=True,
                                  text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{script_path}:3: phrases.time: {{clock}} stands for nothing: choose "
                          "duration, level, turn, time, text", done.stderr)

    def test_sessions_and_connections_do_not_mix(self):
        stub = self.run_stub("echo")
        connections = [self.dial(stub) for _ in range(3)]
        for connection in connections:
            for session in (1, 2, 3):
                connection.start(session, credit_us=PLENTY_US)
        for number, connection in enumerate(connections):
            for session in (1, 2, 3):
                self.speak(connection, 24, [100 * number + session] * 480, session)
        for number, connection in enumerate(connections):
            for session in (1, 2, 3):
                frame = connection.hear_type(wire.AUDIO_OUT)
                self.assertEqual(frame.session, session)
                self.assertEqual(set(samples_of([frame])), {100 * number + session})
        self.assertEqual(stub.metric("earshot_stub_sessions_active"), 9)
        connections[0].send_json(wire.END, 2, reason="hangup")
        self.assertEqual(connections[0].hear_type(wire.ENDED).session, 2)
        connections[1].close()
        stub.wait_for_metric("earshot_stub_sessions_active", 5)

    # --- whom it must survive ---

    def closed_after_error(self, connection):
        frames = connection.hear_end()
        self.assertEqual(frames[-1].type, wire.ERROR)
        self.assertTrue(frames[-1].json()["fatal"])
        return frames[-1].json()["code"]

    def dial_and_send(self, stub, some):
        connection = self.dial(stub, greet=False)
        connection.socket.sendall(some)
        return connection

    def assert_close_takes(self, seconds, dial, attempts=3):
        """A busy machine may close late, but not each time; nothing closes early."""
        for _ in range(attempts):
            connection = dial()
            begin = time.monotonic()
            frames = connection.hear_end()
            took = time.monotonic() - begin
            self.assertEqual(frames[-1].json()["code"], "timeout")
            self.assertGreater(took, seconds - 0.8)
            if took < seconds + 0.8:
                return frames
        self.fail(f"each took longer than {seconds} s, the last one {took} s")

    def test_strangers_are_told_and_closed(self):
        stub = self.run_stub("echo")
        garbage = self.dial(stub, greet=False)
        garbage.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4000)
        self.assertEqual(self.closed_after_error(garbage), "bad_frame")
        version = self.dial(stub, greet=False)
        version.send_json(wire.HELLO, versions=[7])
        self.assertEqual(self.closed_after_error(version), "version")
        self.assert_close_takes(2, lambda: self.dial_and_send(stub, b"\x20\0\0"))
        gap = self.dial(stub)
        gap.sent[0] += 1
        gap.send(wire.PING, payload=b"12345678")
        self.assertEqual(self.closed_after_error(gap), "sequence")
        for reason in ("bad_frame", "version", "hello_timeout", "sequence"):
            stub.wait_for_metric_at_least(
                f'earshot_stub_connections_closed_total{{reason="{reason}"}}', 1)

    def test_who_never_reads_is_closed_and_the_others_do_not_notice(self):
        stub = self.run_stub("tone")
        stuck = self.dial(stub)
        for session in range(1, 9):
            stuck.start(session, credit_us=PLENTY_US)
        other = self.dial(stub)
        begin = time.monotonic()
        closed = 'earshot_stub_connections_closed_total{reason="not_reading"}'
        worst_s = 0
        while stub.metric(closed) == 0:
            self.assertLess(time.monotonic() - begin, 15)
            stuck.send(wire.PONG, payload=b"12345678")  # alive, but reads nothing
            ping_at = time.monotonic()
            other.send(wire.PING, payload=b"12345678")
            other.hear_type(wire.PONG)
            worst_s = max(worst_s, time.monotonic() - ping_at)
            time.sleep(0.05)
        self.assertGreater(time.monotonic() - begin, 4)
        self.assertLess(worst_s, 0.5)
        stub.wait_for_metric("earshot_stub_sessions_active", 0)

    def test_connections_beyond_the_maximum_are_closed_at_once(self):
        stub = self.run_stub("echo", connections_max=2)
        first, _ = self.dial(stub), self.dial(stub)
        third = self.dial(stub, greet=False)
        self.assertEqual(third.hear_end(), [])
        self.assertEqual(stub.metric("earshot_stub_connections_refused_total"), 1)
        first.close()
        stub.wait_for_metric("earshot_stub_connections", 1)
        self.dial(stub)

    def test_a_silent_transceiver_is_dead_after_three_heartbeats(self):
        stub = self.run_stub("echo")
        frames = self.assert_close_takes(3, lambda: self.dial(stub))
        self.assertGreaterEqual([frame.type for frame in frames].count(wire.PING), 2)

    # --- the process ---

    def test_it_drains_at_sigterm(self):
        stub = self.run_stub("echo")
        connection = self.dial(stub)
        connection.start(credit_us=PLENTY_US)
        stub.process.send_signal(signal.SIGTERM)
        self.assertEqual(connection.hear_type(wire.GOAWAY).json()["deadline_ms"], 10000)
        self.speak(connection, 24, [5] * 480)  # what runs goes on
        connection.hear_type(wire.AUDIO_OUT)
        reject = connection.start(2)
        self.assertEqual(reject.type, wire.REJECT)
        self.assertTrue(reject.json()["retry_elsewhere"])
        with self.assertRaises(ConnectionRefusedError):
            Wire(stub.address)
        connection.send_json(wire.END, 1, reason="hangup")
        connection.hear_type(wire.ENDED)
        self.assertEqual(stub.process.wait(5), 0)

    def test_a_second_sigterm_and_the_deadline_end_it(self):
        for signals, config in ((2, {}), (1, {"drain_timeout": "300ms"})):
            stub = self.run_stub("echo", **config)
            connection = self.dial(stub)
            connection.start()
            stub.process.send_signal(signal.SIGTERM)
            connection.hear_type(wire.GOAWAY)
            if signals == 2:
                stub.process.send_signal(signal.SIGTERM)
            self.assertEqual(stub.process.wait(5), 0)
            connection.hear_end()

    def test_it_listens_on_a_unix_socket(self):
        path = os.path.join(self.folder, "stub.sock")
        stub = self.run_stub("echo", listen=f"unix:{path}")
        self.assertEqual(os.stat(path).st_mode & 0o077, 0)
        connection = self.dial(stub)
        connection.start(credit_us=PLENTY_US)
        self.speak(connection, 24, [5] * 480)
        connection.hear_type(wire.AUDIO_OUT)
        with self.assertRaisesRegex(AssertionError, "Address already in use"):
            self.run_stub("echo", listen=f"unix:{path}")
        stub.process.kill()  # the path stays behind, and is taken over
        stub.process.wait()
        self.assertTrue(os.path.exists(path))
        self.dial(self.run_stub("echo", listen=f"unix:{path}"))

    def test_it_is_healthy_ready_and_says_what_is_wrong(self):
        stub = self.run_stub("echo")
        self.assertIn("listening: yes", stub.get("/readyz"))
        self.assertIn("stub: yes", stub.get("/healthz"))
        done = subprocess.run([*stub.command, "--health"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0)
        done = subprocess.run([*stub.command, "--check-config"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0)
        wrong = [*stub.command[:3], "--mode", "sing"]
        done = subprocess.run(wrong, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "earshot-inference-stub: --mode sing: "
                                      "choose agent, parrot, echo or tone\n")
        done = subprocess.run([PROGRAM, "--mode"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)


if __name__ == "__main__":
    unittest.main(verbosity=2)
