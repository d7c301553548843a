#!/usr/bin/env python3
"""The API's types know every field of every rendered object, and allow its value."""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from manifests import OVERLAYS, ROOT, SKIPPED, render, require_kubectl, skip

PROGRAMS, PACKAGES = sys.argv[1:3]
del sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))


def install_packages():
    """npm ci, once for each lock file."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            skip(f"no {command}")
    lock = os.path.join(PACKAGES, "package-lock.json")
    if os.path.exists(lock) and filecmp.cmp(lock, os.path.join(HERE, "package-lock.json"), False):
        return
    os.makedirs(PACKAGES, exist_ok=True)
    shutil.copy(os.path.join(HERE, "package.json"), PACKAGES)
    with tempfile.NamedTemporaryFile(dir=PACKAGES) as waiting:
        shutil.copy(os.path.join(HERE, "package-lock.json"), lock)
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"],
                              cwd=PACKAGES, stdout=waiting, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            os.remove(lock)
            waiting.seek(0)
            skip(f"npm ci: {waiting.read().decode(errors='replace').strip()[-300:]}")


def check(*files):
    """(exit status, what it says)"""
    script = os.path.join(ROOT, "tests/tools/k8s-strict.mjs")
    done = subprocess.run(["node", script, "--modules", PACKAGES, *files],
                          capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        skip(done.stderr.strip())
    return done.returncode, done.stdout + done.stderr


class ManifestSchema(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_every_overlay_is_clean_and_a_misspelt_field_is_not(self):
        rendered = [render(overlay, PROGRAMS, self.folder.name) for overlay in OVERLAYS]
        files = [self.write(f"{overlay}.yaml", text) for overlay, text in zip(OVERLAYS, rendered)]
        status, said = check(*files)
        self.assertEqual(status, 0, said)
        misspelt = rendered[0].replace("minReadySeconds", "minReadySecond", 1)
        status, said = check(self.write("misspelt.yaml", misspelt))
        self.assertEqual(status, 1, said)
        self.assertIn("minReadySecond", said)


if __name__ == "__main__":
    require_kubectl()
    install_packages()
    unittest.main()
