"""The admin port of a service: /healthz, /readyz, /metrics."""

import urllib.error
import urllib.request


def get(port, path):
    """(status, text); (0, "") while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""
