# ruff: noqa: N999, FBT001, FBT002 - the names are trivup's
"""Replaces trivup's cluster: starts one `urteil broker`, optionally with SASL.

The environment variables URTEIL_PYTHON and URTEIL_ROOT name the Python and the folder of Urteil,
because the tests run in another virtual environment.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any


class KafkaCluster:
    """A running broker with the part of trivup's KafkaCluster interface that the tests use."""

    def __init__(self, **conf: Any) -> None:
        self._conf = {"security.protocol": "PLAINTEXT"}
        words = ["broker", "--json", "--brokers", "1", "--auto-create-topics"]
        if mechanism := conf.get("sasl_mechanism"):
            user, _, password = conf["sasl_users"].partition("=")
            words += ["--security-protocol", "SASL_PLAINTEXT", "--user", f"{user}={password}"]
            self._conf = {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": user,
                "sasl.password": password,
            }
        root = os.environ["URTEIL_ROOT"]
        program = (
            f"import sys; sys.path.insert(0, {root!r}); "
            "from checkers.testing.process import main; main()"
        )
        self._process = subprocess.Popen(
            [os.environ["URTEIL_PYTHON"], "-P", "-c", program, *words],
            stdin=subprocess.PIPE,  # when it closes, the process ends
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        self._conf["bootstrap.servers"] = ready["bootstrap_servers"]

    def client_conf(self) -> dict[str, str]:
        return dict(self._conf)

    def wait_operational(self) -> None:
        """Does nothing, because the constructor returns only when the broker is ready."""

    def stop(self, cleanup: bool = False) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)
