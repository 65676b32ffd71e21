"""Look for known vulnerabilities of what is installed by default, with pip-audit in an environment of its own.

Exits with 1 when there are some. Where pip-audit cannot be installed or no index can be reached, it says so and exits
with 0: a build without a network is not a failure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LOCK = Path(__file__).resolve().parent / "requirements.txt"
AUDITOR = "pip-audit>=2.7,<3"
UNREACHABLE = (
    "ConnectionError",
    "ServiceError",
    "ConnectTimeout",
    "Max retries",
    "Could not connect",
    "HTTPError",
)
SECONDS = 300


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command and return its outcome; one that takes too long counts as unreachable."""
    try:
        return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"Could not connect within {SECONDS} s")


def verdict(audit: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    """Return the exit code and the message for an outcome of pip-audit, whose output is JSON."""
    try:
        packages = json.loads(audit.stdout)["dependencies"]
    except ValueError:
        if any(word in audit.stderr for word in UNREACHABLE):
            return 0, f"audit skipped: no index of vulnerabilities can be reached: {last_line(audit.stderr)}"
        return audit.returncode or 1, audit.stdout + audit.stderr
    known = [package for package in packages if "skip_reason" not in package]
    if not known:  # as where a mirror of the packages has no advisories
        return 0, f"audit skipped: the index in reach knows none of {len(packages)} packages"
    found = [
        f"{package['name']} {package['version']}: {weakness['id']}, fixed in {', '.join(weakness['fix_versions'])}"
        for package in known
        for weakness in package["vulns"]
    ]
    unknown = f", {len(packages) - len(known)} unknown to the index" if len(known) < len(packages) else ""
    return bool(found), "\n".join(
        [*found, f"{len(known)} packages audited{unknown}: {len(found)} vulnerabilities"]
    )


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        installed = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", AUDITOR)
        if installed.returncode:
            print(f"audit skipped: {AUDITOR} cannot be installed: {last_line(installed.stderr)}")
            return 0
        audit = run(
            python,
            "-m",
            "pip_audit",
            "--format",
            "json",
            "--require-hashes",
            "--disable-pip",
            "--requirement",
            LOCK,
        )
    code, message = verdict(audit)
    print(message)
    return code


if __name__ == "__main__":
    sys.exit(main())
