"""The handlers of requests: each splits a request, calls the broker and joins the responses."""
