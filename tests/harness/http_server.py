"""An HTTP server of a test's own, in threads of this process."""
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """HTTP/1.1, without a log. A client that goes is no error."""
    protocol_version = "HTTP/1.1"

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass

    def log_message(self, *_):
        """Nothing."""


class Server:
    """Listens on this machine, on any port, until it is closed."""

    def __init__(self, handler):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self):
        """HOST:PORT"""
        return "127.0.0.1:%d" % self.server.server_address[1]

    def close(self):
        """Nobody can connect any more."""
        self.server.shutdown()
        self.server.server_close()
