"""Random programs, random bytes from a child, random requests: nothing may break, whatever comes."""
