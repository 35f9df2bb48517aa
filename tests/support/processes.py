"""Code that is run in new processes."""

import json
import os
import subprocess
import sys

from support.patience import PATIENCE


def run_code(code, *arguments, **environment):
    """Run code in a new process that reaches no network, and return what it prints as JSON."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{code}", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1", **environment},
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
