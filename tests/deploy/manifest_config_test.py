#!/usr/bin/env python3
"""Each service accepts its rendered configuration, with the variables that its pod would have."""

import os
import subprocess
import sys
import tempfile
import unittest

from manifests import (OVERLAYS, Manifests, configuration_files, environment, name, render,
                       require_kubectl)

PROGRAMS = sys.argv.pop(1)


def check_config(service, files, values):
    """(exit status, what it says)"""
    with tempfile.TemporaryDirectory() as folder:
        for file_name, text in files.items():
            with open(os.path.join(folder, file_name), "w", encoding="utf-8") as file:
                file.write(text)
        path = os.path.join(folder, f"{service}.yaml")
        program = os.path.join(PROGRAMS, f"earshot-{service}")
        done = subprocess.run([program, "--config", path, "--check-config"], env=values,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr


class ManifestConfig(unittest.TestCase):
    def test_every_service_accepts_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            for overlay in OVERLAYS:
                m = Manifests(overlay, render(overlay, PROGRAMS, folder))
                for d in m.services():
                    with self.subTest(overlay=overlay, service=name(d)):
                        files, values = configuration_files(m, d), environment(m, d)
                        self.assertEqual(check_config(name(d), files, values), (0, ""))

    def test_a_wrong_variable_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            m = Manifests("cluster", render("cluster", PROGRAMS, folder))
            for d in m.services():
                with self.subTest(service=name(d)):
                    values = {**environment(m, d), "EARSHOT_ADMIN_IP": "nowhere"}
                    status, said = check_config(name(d), configuration_files(m, d), values)
                    self.assertEqual(status, 1)
                    self.assertIn("admin_listen", said)


if __name__ == "__main__":
    require_kubectl()
    unittest.main()
