"""The commands of the command line, a module for each occasion on which they are used."""
