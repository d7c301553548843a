#!/usr/bin/env python3
"""No global symbol of ours can take the place of a library's.

usage: symbols.py ARCHIVE... --against LIBRARY...

A program's own definition wins over the one of a shared library, also for the library's own calls.
So no symbol of ours may have a name that a library exports, and none may begin like a library's,
unless its file does, with more of a name behind it: srtp_transport_create lives in
srtp_transport.c. (The next version of a library may export any name with its prefix.)
"""
import os
import re
import subprocess
import sys

PREFIX = re.compile(
    r"srtp_|opus_|sctp_|nng_|nn_|json_|yaml_|redis|sds|lws_|lejp_"
    r"|SSL_|EVP_|OPENSSL_|CRYPTO_|X509_|BIO_|ERR_"
    r"|protobuf_c_|speex_|flite_|cst_|hex_digit_to_int$|is_hex_digit$"
)


def nm(options, path):
    command = ["nm", *options, "--defined-only", path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")


def symbols_of(archive):
    """(name of the C file without .c, symbol) of each global symbol."""
    stem = ""
    for line in nm(["-g"], archive):
        member = re.fullmatch(r"(.+?)(\.c)?\.o:", line)
        if member:
            stem = os.path.basename(member[1])
        elif len(line.split()) == 3:
            yield stem, line.split()[2]


def exported_by(library):
    """Of a shared or a static library; names without the version behind @."""
    options = ["-g"] if library.endswith(".a") else ["-D"]
    fields = [line.split() for line in nm(options, library)]
    return {symbol[2].split("@")[0] for symbol in fields if len(symbol) == 3}


def begins_as_its_file(stem, symbol, prefix):
    return symbol.startswith(stem) and len(stem) > len(prefix) and stem.startswith(prefix)


def check(archives, libraries):
    exported = {}
    for library in libraries:
        exported.update(dict.fromkeys(exported_by(library), os.path.basename(library)))
    for archive in archives:
        for stem, symbol in symbols_of(archive):
            where = f"{os.path.basename(archive)}:{stem}.c: {symbol}"
            prefix = PREFIX.match(symbol)
            if symbol in exported:
                yield f"{where}: {exported[symbol]} exports this name"
            elif prefix and not begins_as_its_file(stem, symbol, prefix[0]):
                yield f"{where}: begins like a library's symbol ({prefix[0]})"


def main():
    if "--against" not in sys.argv:
        sys.exit(__doc__)
    split = sys.argv.index("--against")
    problems = list(check(sys.argv[1:split], sys.argv[split + 1 :]))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
