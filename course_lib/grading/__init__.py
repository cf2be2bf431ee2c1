"""Release lessons as assignments, grade what comes back without trusting it, and see the class's mistakes."""
