"""Import of recorded aten graphs; tools/aten2fuse.py is the command."""
try:
    import numpy as _
except ImportError:
    raise SystemExit("error: recorded graphs need NumPy: apt-get install python3-numpy, and run the "
                     "tool by /usr/bin/python3, or name a python that has it") from None
