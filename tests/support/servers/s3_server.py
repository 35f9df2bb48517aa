"""A local S3 server (moto) that can answer slowly, with errors, and not at all."""

import socket
import threading
import time
from contextlib import contextmanager
from random import Random

CREDENTIALS = {"key": "testing", "secret": "testing"}
BUCKET = "corpora"


class FaultyApp:
    """A WSGI application that answers some requests with errors, or late.

    Attributes:
        faults: the part of requests that fail; every other one of these after it had its effect.
        delay: seconds before each answer.
        calls: (method, path) of all requests.
    """

    def __init__(self, app, random):
        self._app, self._random, self._lock = app, random, threading.Lock()
        self.faults, self.delay, self.calls = 0.0, 0.0, []

    def __call__(self, environ, start_response):
        with self._lock:
            self.calls.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
            is_faulty, is_late = self._random.random() < self.faults, self._random.random() < 0.5
            time.sleep(self.delay * self._random.random())
            if not is_faulty or is_late:
                answer = [*self._app(environ, (lambda *_: None) if is_faulty else start_response)]
            if not is_faulty:
                return answer
        start_response("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"]


@contextmanager
def s3_server(seed=0):
    """Yield the application of a server with an empty bucket, and the storage options to reach it."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_):
            pass

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = FaultyApp(DomainDispatcherApplication(create_backend_app), Random(seed))
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield app, {**CREDENTIALS, "endpoint_url": f"http://127.0.0.1:{port}"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
