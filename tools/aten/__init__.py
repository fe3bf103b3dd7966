"""Import of recorded aten graphs; tools/aten2fuse.py is the command."""
