"""``python -m mst``."""

import sys

from mst.cli import main

sys.exit(main())
