#!/usr/bin/env python3
"""A check that cannot fail is no check: each gets wrong snippets, which it must name by file and
line, and right ones, which it must leave alone."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ICE = "services/transceiver/core/transport/ice_agent.c"
SESSION = "services/transceiver/core/session/session.c"
PAGE = "docs/operations.md"
LONG_FUNCTION = "void f(void)\n{\n" + "    g();\n" * 67 + "}\n"

# (check, path of the snippet, snippet, the line it must be named by; None: it is right)
CASES = [
    ("include_directions", "common/base/a.c", '#include "common/crypto/b.h"\n', 1),
    ("include_directions", ICE, '\n#include "common/runtime/clock.h"\n', 2),
    ("include_directions", ICE, '#include "services/transceiver/core/sdp/sdp_offer.h"\n', 1),
    ("include_directions", ICE, '#include "services/transceiver/core/session/session.h"\n', 1),
    ("include_directions", "services/relay/a.c", '#include "services/signaling/fleet.h"\n', 1),
    ("include_directions", "services/relay/a.c", '#include "forwarder.h"\n', 1),
    ("include_directions", "services/gateway/a.c", "int a;\n", 1),
    ("include_directions", "common/stun/a.c", '#include "common/routing/key_ring.h"\n', 1),
    ("include_directions", SESSION, f'#include "{ICE[:-2]}.h"\n', None),
    ("include_directions", "common/stun/a.c", '/* #include "common/routing/key_ring.h" */\n', None),
    ("include_directions", "common/runtime/a.c",
     '#include "common/base/bytes.h"\n#include <time.h>\n', None),
    ("core_bans", ICE, "#include <sys/socket.h>\n", 1),
    ("core_bans", ICE, "#include <pthread.h>\n", 1),
    ("core_bans", ICE, "#include <time.h>\n", 1),
    ("core_bans", ICE, "#include <sys/time.h>\n", 1),
    ("core_bans", ICE, 'static void f(void)\n{\n    printf("x");\n}\n', 3),
    ("core_bans", ICE, "static void f(void)\n{\n    int t = time(NULL);\n}\n", 3),
    ("core_bans", ICE,
     "bool ice_agent_input(struct ice_agent *a)\n{\n    a->b = malloc(4);\n}\n", 3),
    ("core_bans", "services/relay/core/forwarder.c", "#include <unistd.h>\n", 1),
    ("core_bans", "services/relay/core/flow_table.c", "bool f(void)\n{\n    free(a);\n}\n", 3),
    ("core_bans", "services/relay/core/rate_buckets.c", "#include <time.h>\n", 1),
    ("core_bans", "services/transceiver/port/relay_leg.c", "#include <sys/socket.h>\n", 1),
    ("core_bans", "services/transceiver/port/backend_stream.c",
     "bool f(void)\n{\n    s->fd = open(a);\n}\n", 3),
    ("core_bans", "services/transceiver/port/udp_port.c", "#include <sys/socket.h>\n", None),
    ("core_bans", "services/inference-stub/dialogue.c", "#include <poll.h>\n", 1),
    ("core_bans", ICE, "struct a *\na_create(void)\n{\n    return calloc(1, 4);\n}\n", None),
    ("core_bans", ICE, "#include <stdio.h>\nvoid f(void)\n{\n    snprintf(a, b, c);\n}\n", None),
    ("core_bans", ICE,
     'void f(void)\n{\n    m->read(a); // time(NULL)\n    g("printf(x)");\n}\n', None),
    ("core_bans", "services/relay/relay_worker.c", "#include <sys/socket.h>\n", None),
    ("library_doors", "services/relay/a.c", "#include <openssl/evp.h>\n", 1),
    ("library_doors", "common/runtime/log.c", "#include <openssl/crypto.h>\n", 1),
    ("library_doors", ICE, "#include <srtp2/srtp.h>\n", 1),
    ("library_doors", SESSION, "#include <opus/opus.h>\n", 1),
    ("library_doors", "common/runtime/log.c", "\n\n#include <nng/nng.h>\n", 3),
    ("library_doors", "services/relay/a.c", '#include "placement.pb-c.h"\n', 1),
    ("library_doors", "common/runtime/yaml_reader.c", "#include <yaml.h>\n", 1),
    ("library_doors", "services/relay/a.c", "#include <libwebsockets.h>\n", 1),
    ("library_doors", "common/runtime/log.c", "#include <jansson.h>\n", 1),
    ("library_doors", "services/inference-stub/dialogue.c", "#include <flite/flite.h>\n", 1),
    ("library_doors", "common/runtime/log.c", "#include <curl/curl.h>\n", 1),
    ("library_doors", "common/crypto/hkdf.c",
     "#include <openssl/kdf.h>\n#include <string.h>\n", None),
    ("library_doors", "common/runtime/config_tree.c", "#include <yaml.h>\n", None),
    ("file_limits", "common/base/a.c", "int a;\n" * 501, 501),
    ("file_limits", "common/base/a.c", "int a;\n" * 500, None),
    ("file_limits", "tests/unit/a_test.c", "int a;\n" * 501, None),
    ("file_limits", "tests/unit/a_test.c", "\n" + "a" * 101 + "\n", 2),
    ("file_limits", "common/base/a.c", "a" * 100 + "\n", None),
    ("file_limits", "common/base/a.c",
     "\n\n" + LONG_FUNCTION.replace("    g", "    h();\n    g", 1), 3),
    ("file_limits", "common/base/a.c", LONG_FUNCTION, None),
    ("file_limits", "web/a.js", "a;\n" * 501, 501),
    ("file_limits", "web/a.js", "\n// " + "a" * 98 + "\n", 2),
    ("file_limits", "tests/e2e/a_test.mjs", "// " + "a" * 98 + "\n", 1),
    ("file_limits", "tests/check/a.py", "# " + "a" * 99 + "\n", 1),
    ("file_limits", "tests/e2e/a.sh", "# " + "a" * 99 + "\n", 1),
    ("file_limits", "dev", "#!/bin/sh\n# " + "a" * 99 + "\n", 2),
    ("file_limits", "tests/check/run", "#!/bin/sh\n# " + "a" * 99 + "\n", 2),
    ("file_limits", "tests/e2e/a_test.mjs", "a;\n" * 501, None),
    ("file_limits", "tests/e2e/node_modules/a/a.js", "a" * 101 + "\n", None),
    ("proto_recursion", "proto/a.proto", "message A {\n  A again = 1;\n}\n", 2),
    ("proto_recursion", "proto/a.proto",
     "message A {\n  B b = 1;\n}\nmessage B {\n  repeated A a = 1;\n}\n", 2),
    ("proto_recursion", "proto/a.proto", "message A {\n  oneof x {\n    p.A a = 1;\n  }\n}\n", 3),
    ("proto_recursion", "proto/a.proto", "message A {\n  map<string, A> a = 1;\n}\n", 2),
    ("proto_recursion", "proto/a.proto",
     "message A {\n  message B {\n    A a = 1;\n  }\n  B b = 1;\n}\n", 5),
    ("proto_recursion", "proto/a.proto",
     "message A {\n}\nmessage B {\n  A a = 1; // B b = 2;\n  A c = 2;\n}\n", None),
    ("documents", "docs/a.md", "# A\n[b](b.md)\n", 2),
    ("documents", "tests/fuzz/a_fuzz.c", "/* a_fuzz.c - a */\n", 1),
    ("documents", "docs/a.md", "# A heading\n\n[here](#another-heading)\n", 3),
    ("documents", "docs/a.md", "see `relay_worker.c`\n", 1),
    ("documents", "docs/a.md", "\ncall `no_such_name()`\n", 2),
    ("documents", "docs/a.md", "```tour\nmain -> no_such_name\n```\n", 2),
    ("documents", "common/base/a.c", "/* docs/b.md, section 2 */\n", 1),
    ("documents", "docs/a.md",
     "# A heading\n[here](#a-heading) [there](https://example.org/b.md) `a.md`\n", None),
    ("documents", "docs/a.md", "```\nno_such_name [b](b.md)\n```\n", None),
    ("operations", "config/local/a.yaml", "a:\n  b: 1  # c: 2\n", 2),
    ("operations", "config/local/a.yaml", "a:\n  - b: 1\n    c: 2\n", 2),
    ("operations", "config/local/a.yaml", "\n# ${EARSHOT_NEW:-}\n", 2),
    ("operations", "services/relay/a.c", 'f(\n    "earshot_relay_new_total");\n', 2),
    ("operations", "services/relay/a.c", 'log_info(\n    "relay.new a=1");\n', 1),
    ("operations", "services/relay/a.c",
     'f(t, "earshot_a", METRIC_GAUGE);\n{"earshot_a",\n METRIC_HISTOGRAM}\n', 2),
    ("operations", PAGE, "`earshot_gone_total`\n", 1),
    ("operations", PAGE, "## Log events\n| `relay.gone` | |\n", 2),
    ("operations", "services/relay/a.c",
     '/* log_info("relay.new"); "earshot_a" */\nlog_open("relay");\n', None),
]

# (name of the C file, its text, whether it is right)
SYMBOL_CASES = [
    ("srtp_transport", "void srtp_transport_create(void) {}", True),
    ("media", "void srtp_transport_create(void) {}", False),
    ("srtp", "void srtp_create(void) {}", False),
    ("yaml_reader", "int yaml_reader_load;", True),
    ("config", "int yaml_load;", False),
    ("config", "static int yaml_load; int *config_load(void) { return &yaml_load; }", True),
    ("lws", "void lws_write(void) {}", False),
    ("a", "void a_name_that_a_library_exports(void) {}", False),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(script, *arguments):
    command = [sys.executable, "-B", os.path.join(HERE, script), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def failed(what, result):
    print(f"{what}\n  exit {result.returncode}, said: {result.stdout}{result.stderr}")
    return 1


def run_case(check, path, snippet, line):
    with tempfile.TemporaryDirectory() as root:
        write(os.path.join(root, path), snippet)
        result = run(f"{check}.py", root)
    if line is None and (result.returncode != 0 or result.stdout):
        return failed(f"{check}: is red for the right snippet {snippet[:70]!r} in {path}", result)
    is_named = result.returncode == 1 and result.stdout.startswith(f"{path}:{line}: ")
    if line is not None and not is_named:
        return failed(f"{check}: does not name {path}:{line} for {snippet[:70]!r}", result)
    return 0


def compile_to(output, options, text):
    write(f"{output}.c", text)
    subprocess.run(["cc", *options, "-o", output, f"{output}.c"], check=True)


def run_symbol_case(folder, library, name, text, is_right):
    member = os.path.join(folder, f"{name}.c.o")
    archive = os.path.join(folder, "libroom.a")
    write(os.path.join(folder, "in.c"), text)
    subprocess.run(["cc", "-c", "-o", member, os.path.join(folder, "in.c")], check=True)
    subprocess.run(["ar", "rc", archive, member], check=True)
    result = run("symbols.py", archive, "--against", library)
    os.remove(archive)
    if result.returncode != (0 if is_right else 1):
        return failed(f"symbols: {'red' if is_right else 'green'} for {text} in {name}.c", result)
    return 0


def main():
    failures = sum(run_case(*case) for case in CASES)
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "library.so")
        compile_to(library, ["-shared", "-fPIC"], "void a_name_that_a_library_exports(void) {}")
        failures += sum(run_symbol_case(folder, library, *case) for case in SYMBOL_CASES)
    count = len(CASES) + len(SYMBOL_CASES)
    print(f"{count - failures} passed, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
