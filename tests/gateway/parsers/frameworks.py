"""What an application of Django, Flask or aiohttp reads in a request: served on any port, which is
printed. Runs in the Python of scripts/setup --tests: frameworks.py NAME."""
import json
import sys
import wsgiref.simple_server


def django_server():
    """With its own host check, and behind a proxy."""
    import django
    from django.conf import settings
    from django.core.exceptions import DisallowedHost
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.urls import re_path
    settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, USE_X_FORWARDED_HOST=True,
                       SECRET_KEY="none", LOGGING_CONFIG=None)
    django.setup()

    def view(request, segment=None):
        try:
            host = request.get_host()
        except DisallowedHost:
            host = None
        return HttpResponse(json.dumps({
            "header": request.headers.get("X-Key"), "path": segment,
            "query": request.GET.get("key"), "cookie": request.COOKIES.get("sid"), "host": host}))
    globals()["urlpatterns"] = [re_path(r"^k/([^/]*)", view), re_path("", view)]
    return _wsgi(get_wsgi_application())


def flask_server():
    """Behind a proxy."""
    import flask
    from werkzeug.middleware.proxy_fix import ProxyFix
    app = flask.Flask(__name__)

    @app.errorhandler(404)
    @app.route("/k/<segment>")
    @app.route("/k/<segment>/<path:_>")
    def view(_=None, segment=None):
        request = flask.request
        return {"header": request.headers.get("X-Key"), "path": segment,
                "query": request.args.get("key"), "cookie": request.cookies.get("sid"),
                "host": request.host}
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=0, x_proto=0, x_host=1)
    return _wsgi(app)


def _wsgi(app):
    class Quiet(wsgiref.simple_server.WSGIRequestHandler):
        """Without a log."""

        def log_message(self, *_):
            """Nothing."""
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, handler_class=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()


def aiohttp_server():
    """On its own server."""
    import socket
    from aiohttp import web

    async def view(request):
        return web.json_response({
            "header": request.headers.get("X-Key"), "path": request.match_info.get("segment"),
            "query": request.query.get("key"), "cookie": request.cookies.get("sid"),
            "host": request.host})
    app = web.Application()
    for route in ("/k/{segment}", "/k/{segment}/{tail:.*}", "/{tail:.*}"):
        app.router.add_route("*", route, view)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    web.run_app(app, sock=listener, print=None, access_log=None)


if __name__ == "__main__":
    {"django": django_server, "flask": flask_server, "aiohttp": aiohttp_server}[sys.argv[1]]()
