import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The events of a member of an election: one JSON object per line, in one write each.
 *
 * <p>Instants are System.nanoTime(), which on Linux is CLOCK_MONOTONIC, one clock for all
 * processes of a machine.
 */
final class EventFile {
  private final FileOutputStream out;

  EventFile(String path) throws IOException {
    out = new FileOutputStream(path, true);
    write("started", null);
  }

  /** An event of now; `field` is one more field of the object, or null. */
  void write(String event, String field) {
    write(event, System.nanoTime(), field);
  }

  synchronized void write(String event, long nanos, String field) {
    String more = field == null ? "" : "," + field;
    String line = String.format("{\"event\":\"%s\",\"at\":%d.%09d%s}%n", event,
        nanos / 1_000_000_000L, nanos % 1_000_000_000L, more);
    try {
      out.write(line.getBytes(StandardCharsets.UTF_8));
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }

  void role(String event, int role) {
    write(event, "\"role\":" + role);
  }
}
