"""The lists that both languages share, and the layouts of what the core shares with its launcher.

Made when the core is built, from what C++ declares (core/bindings/lists); it needs neither the core
nor numpy. Lists map names to meanings, in the order of the values. Layouts map the names of fields
to their offset and to the code by which `struct` knows them; nearfar.layout reads them.
"""

_Layout = dict[str, tuple[int, str]]

COUNTS: dict[str, str]
PEAKS: tuple[str, ...]  # of COUNTS: most pages or bytes at once
COMPRESSIONS: dict[str, str]
EVICTIONS: dict[str, str]
PAGER_CPUS: dict[str, str]
RESIDENCES: dict[str, str]
POLICIES: tuple[str, ...]  # of replacement
DEFAULT_POLICY: str
PLACEMENT_POLICIES: tuple[str, ...]
ORACLES: tuple[str, ...]  # "oracle:NAME"
DETECTORS: tuple[str, ...]  # by which placement policies learn of the use of pages
MACHINE_KINDS: tuple[str, ...]

FAR_STORES: dict[str, tuple[str, str, str]]  # what the user types, backing, meaning
FAR_SLOTS: int  # of any tree

CONTROL_MAGIC: int
CONTROL_BYTES: int  # with what follows it
CONTROL: _Layout  # at the beginning of a tree's memory
MEMBER: _Layout  # each of CONTROL["members"]
MEMBER_BYTES: int
ORDERS: _Layout  # from the beginning of a tree's memory
FLAT: _Layout  # from the beginning of a tree's memory
FLAT_WHOLE_SHARE: int  # of near memory: all
ANSWER: _Layout  # each of ORDERS["answers"]
ANSWER_BYTES: int

FAULT_EVENTS: dict[str, str]
FAULT_MAGIC: bytes
FAULT_HEAD: _Layout  # at the beginning of a record of faults
FAULT_HEAD_BYTES: int

REGION: _Layout  # in the memory of a managed process
REGION_PAGERS: int  # entries of its `pagers`
PAGE_GROUP: int  # pages whose entries in the page table share a page of memory
PAGE_ENTRY_BYTES: int
PAGE_STATE_AT: int  # in an entry
