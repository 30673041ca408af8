"""What every archive must do; the method names are the specification.

Bind it by subclassing with a `connect` fixture, which opens connections to one empty archive; each
of them stands for another process.
"""

from .archive_checkpoints import CheckpointsSuite
from .archive_leases import LeasesSuite
from .archive_searches import SearchesSuite


class ArchiveSuite(SearchesSuite, LeasesSuite, CheckpointsSuite):
    """Base class of the tests of one archive."""
