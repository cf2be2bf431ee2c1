"""Data of the course: made by libraries or by us, so every lesson runs offline. Knows no model."""
