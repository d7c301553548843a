"""F4: the relay comes back with another number of workers, one more and one less in turn.

Target: as F2. The kernel may now give a client to another worker than before; internal ports stay.
"""

from relay_faults import a_relay_restart

a_relay_restart("F4", workers=(3, 2, 1, 2, 3))
