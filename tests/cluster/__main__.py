"""``python -m tests.cluster [NAME ...]``: disturbs a cluster while it works, and compares what it has answered."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.machines import enter
from tests.services.s3_server import gateway


def main() -> None:
    """Runs the scenarios that are named, or all of them."""
    gateway()  # inside there is no way to what it is built of
    enter(["-m", "tests.cluster", *sys.argv[1:]])
    # the first process of a namespace has to say what becomes of it when it is asked to end
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    from tests.cluster.cluster import Cluster
    from tests.cluster.scenarios import SCENARIOS, perform

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(SCENARIOS)}; all without a name")
    parser.add_argument("--seconds", type=int, default=30, help="how long events come in each scenario")
    parser.add_argument("--logs", type=Path, help="where to keep what the programs say")
    given = parser.parse_args()
    for name in given.names:
        if name not in SCENARIOS:
            parser.error(f"there is no scenario {name}: {', '.join(SCENARIOS)}")
    logs = given.logs or Path(tempfile.mkdtemp(prefix="continua-cluster-logs-"))
    logs.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    cluster = Cluster(logs)
    print(f"the cluster is there after {time.monotonic() - began:.1f} s; its programs write to {logs}", flush=True)
    failed = 0
    try:
        for name in given.names or SCENARIOS:
            try:
                print(perform(cluster, name, given.seconds), flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{name}: FAILED: {error}", flush=True)
    finally:
        cluster.remove()
    print(f"{time.monotonic() - began:.0f} s in all", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
