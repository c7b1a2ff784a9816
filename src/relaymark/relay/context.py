"""What every task of a worker shares: the plan, the client, the request pack and the journal."""

from __future__ import annotations

import os
from pathlib import Path

from relaymark.bench.secrets import request_headers
from relaymark.relay import records
from relaymark.relay.pack import RequestPack
from relaymark.relay.plan import Plan, request_head
from relaymark.trace import Capture, JournalWriter
from relaymark.wire import Client, parse_url, resolve


class Context:
    """Built once per worker, inside its event loop.

    Raises:
        RelaymarkError: The URL, a header or the host's name cannot be used.
    """

    def __init__(self, folder: Path, worker: int, plan: Plan) -> None:
        target = resolve(parse_url(plan.url, verify_tls=plan.verify_tls))
        self.plan = plan
        self.worker = worker
        self.client = Client(target, timeouts=plan.timeouts(), limits=plan.limits(), keep_alive=plan.keep_alive)
        headers = request_headers(plan, os.environ)
        self.head = request_head("POST", target.base_path + plan.path, target.host_header, headers)
        self.pack = RequestPack(folder)
        self.journal = JournalWriter(folder, records.worker_stem(worker))
        self._legs = worker << 40

    def next_leg_id(self) -> int:
        """A leg id no other worker gives out."""
        self._legs += 1
        return self._legs

    def keep(self, capture: Capture) -> None:
        """Appends an attempt to the journal.

        Raises:
            OSError: The journal cannot be written, e.g. the disk is full.
        """
        self.journal.append(records.CAPTURE, records.encode(capture))
