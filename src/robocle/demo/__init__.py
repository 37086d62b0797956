"""The demo: teach the shipped pictures of a home, meet its things again, and report."""
