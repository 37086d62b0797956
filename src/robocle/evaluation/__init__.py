"""The benchmark: experiments over data sets, methods and orderings, and their reports."""
