"""The demo: teach the shipped pictures of a home, then test its objects in other conditions."""
