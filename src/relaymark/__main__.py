"""``python -m relaymark``: the same as the ``relaymark`` command."""

import sys

from relaymark.cli import main

sys.exit(main())
