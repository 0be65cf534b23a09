"""The values that statistics compute on: arrays and names, without files and columns."""
