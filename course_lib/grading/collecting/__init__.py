"""Whose notebook is which: folders, zip files, rosters, lessons."""
