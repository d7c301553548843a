#!/usr/bin/python3
"""Word errors of a digit recogniser: does a machine still understand what arrived?

usage: digits_wer.py make OUT.raw OUT.ref [COUNT]
           speak COUNT (40) utterances of five digits: 16 kHz mono raw, and its text
       digits_wer.py score IN.raw IN.ref
           recognise the recording, print {"words":..., "errors":..., "wer_percent":...}

The recording to score must have the length of the made one (time-aligned, or stretched evenly).
Needs Debian's flite, sox, pocketsphinx, pocketsphinx-en-us. The clean recording scores 0 % with
flite's rms voice (espeak-ng's scores 25 %: of no use here). One word of 200 is 0.5 %: differences
under 2 points are noise.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

DIGITS = "zero one two three four five six seven eight nine".split()
GRAMMAR = "#JSGF V1.0;\ngrammar digits;\npublic <digits> = (" + " | ".join(DIGITS) + ")+;\n"
MODEL = os.environ.get("POCKETSPHINX_MODEL", "/usr/share/pocketsphinx/model/en-us")
SILENCE = b"\0\0" * 8000


def speak(text):
    with tempfile.NamedTemporaryFile(suffix=".wav") as wav:
        subprocess.run(["flite", "-voice", "rms", "-t", text, "-o", wav.name], check=True)
        return subprocess.run(["sox", wav.name, "-t", "raw", "-r", "16000", "-c", "1",
                               "-e", "signed", "-b", "16", "-"],
                              check=True, capture_output=True).stdout


def make(raw_path, ref_path, count):
    rng = random.Random(7)
    end = 0
    with open(raw_path, "wb") as raw, open(ref_path, "w") as ref:
        for _ in range(count):
            text = " ".join(rng.choice(DIGITS) for _ in range(5))
            block = SILENCE + speak(text) + SILENCE
            raw.write(block)
            end += len(block) // 2
            ref.write(f"{text}|{end}\n")


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[:], i
        for j, y in enumerate(b, 1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
    return row[-1]


def score(raw_path, ref_path):
    with open(raw_path, "rb") as f:
        raw = f.read()
    refs = [line.rsplit("|", 1) for line in open(ref_path).read().splitlines()]
    stretch = len(raw) / 2 / int(refs[-1][1])
    with tempfile.TemporaryDirectory() as folder:
        start = 0
        for k, (_, end) in enumerate(refs):
            stop = int(int(end) * stretch)
            with open(f"{folder}/u{k}.raw", "wb") as f:
                f.write(raw[start * 2: stop * 2])
            start = stop
        open(f"{folder}/ctl", "w").write("".join(f"u{k}\n" for k in range(len(refs))))
        open(f"{folder}/gram", "w").write(GRAMMAR)
        subprocess.run(["pocketsphinx_batch", "-adcin", "yes", "-cepdir", folder,
                        "-cepext", ".raw", "-ctl", f"{folder}/ctl", "-hyp", f"{folder}/hyp",
                        "-hmm", f"{MODEL}/en-us", "-dict", f"{MODEL}/cmudict-en-us.dict",
                        "-jsgf", f"{folder}/gram", "-logfn", "/dev/null",
                        "-remove_silence", "no", "-remove_noise", "no", "-dither", "yes"],
                       check=True, stdout=subprocess.DEVNULL)
        heard = {}
        with open(f"{folder}/hyp") as hypotheses:
            for line in hypotheses:
                text, tag = line.rsplit("(", 1)
                heard[tag.split()[0].strip(")")] = text.split()
    words = errors = 0
    for k, (said, _) in enumerate(refs):  # without a hypothesis an utterance is all wrong
        errors += edit_distance(said.split(), heard.get(f"u{k}", []))
        words += len(said.split())
    percent = round(100 * errors / max(words, 1), 2)
    print(json.dumps({"words": words, "errors": errors, "wer_percent": percent}))

def main():
    if len(sys.argv) in (4, 5) and sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) == 5 else 40)
    elif len(sys.argv) == 4 and sys.argv[1] == "score":
        score(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"digits_wer: {error}", file=sys.stderr)
        sys.exit(2)
