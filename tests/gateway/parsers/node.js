// What an application of Node reads in a request, its cookies by the package `cookie`, whose folder
// is the argument: served on any port, which is printed.
const http = require("http");
const cookies = require(process.argv[2]);

function read(request) {
  const url = new URL(request.url, "http://here");
  const segments = url.pathname.split("/").map(decodeURIComponent);
  return {
    header: request.headers["x-key"],
    path: segments[1] === "k" ? segments[2] : undefined,
    query: url.searchParams.get("key"),
    cookie: cookies.parse(request.headers.cookie || "").sid,
    host: request.headers.host,
  };
}

const server = http.createServer((request, answer) => {
  try {
    answer.end(JSON.stringify(read(request)));
  } catch (refused) {
    answer.writeHead(400);
    answer.end();
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
