"""The teach page and the HTTP API behind it: `robocle serve`.

    browser or program -> security -> routes and live (WebSocket) -> workers -> SharedLearner

The event loop never waits for the learner: its work is done in threads. The extra `robocle[web]`
brings the server.
"""
