"""From the file that was handed in to cells in order, whatever happened to the file."""
