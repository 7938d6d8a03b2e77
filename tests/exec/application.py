"""An application that a test stops, starts and makes ill, always at the same port."""
import http.server
import socketserver
import threading

from harness.http_server import Handler


class Application:
    """Answers 200, and at /health what `health` says; None: nothing, for ever."""

    def __init__(self, port):
        self.port = port
        self.health = 200
        self.server = None
        self.ended = threading.Event()
        self.start()

    @property
    def address(self):
        """HOST:PORT"""
        return f"127.0.0.1:{self.port}"

    def start(self):
        """Accepts connections."""
        application = self

        class Answers(Handler):
            """One connection."""

            def do_GET(self):
                """As the test wants it."""
                status = application.health if self.path == "/health" else 200
                if status is None:
                    application.ended.wait(120)
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            """May listen again at once."""
            allow_reuse_address = True
            daemon_threads = True

        self.server = Server(("127.0.0.1", self.port), Answers)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """Whoever connects is refused."""
        self.server.shutdown()
        self.server.server_close()

    def close(self):
        """At the end of a test."""
        self.ended.set()
        self.stop()
