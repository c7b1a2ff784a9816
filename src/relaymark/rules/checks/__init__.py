"""The rules, one subject a file. Each looks at what was read and notes what it finds; none reads a file."""
