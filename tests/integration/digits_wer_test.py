"""Does a recogniser still understand digits over a lossy network? A guard, not a proof.

Loss is repaired by the real reorder buffer and decoder. Concealment alone can score 0 as well: what
repair is worth is told by voice_quality_test. Needs flite, sox, pocketsphinx and its en-us model.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(sys.argv.pop(1), "voice_over_loss")
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "digits_wer.py")
MODEL = os.environ.get("POCKETSPHINX_MODEL", "/usr/share/pocketsphinx/model/en-us")

MISSING = [name for name in ("flite", "sox", "pocketsphinx_batch") if shutil.which(name) is None]
if not os.path.isdir(MODEL):
    MISSING.append("pocketsphinx-en-us")

# Repair, packets lost in per cent, mean length of a burst, word errors allowed in per cent.
CASES = [
    ("fec", 10, 1, 1.0),
    ("fec", 20, 1, 3.0),
    ("red+fec", 10, 3, 7.0),
]


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Digits(unittest.TestCase):
    def test_repaired_speech_is_understood(self):
        with tempfile.TemporaryDirectory() as folder:
            clean, text = os.path.join(folder, "clean.raw"), os.path.join(folder, "text")
            heard = os.path.join(folder, "heard.raw")
            subprocess.run([sys.executable, TOOL, "make", clean, text], check=True)
            for repair, percent, burst, allowed in CASES:
                with self.subTest(repair=repair, percent=percent, burst=burst):
                    command = [PROGRAM, clean, heard, repair, str(percent), str(burst), "1"]
                    subprocess.run(command, check=True)
                    score = subprocess.run([sys.executable, TOOL, "score", heard, text],
                                           check=True, capture_output=True)
                    errors = json.loads(score.stdout)["wer_percent"]
                    print(f"{repair}, {percent} % in bursts of {burst}: {errors} % wrong")
                    self.assertLessEqual(errors, allowed)


if __name__ == "__main__":
    if MISSING:
        print("digits_wer_test: skipped, not installed:", ", ".join(MISSING))
    unittest.main()
