import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;

/**
 * One process that is a candidate for every role on etcd, by the recipe of etcd's own elections: a
 * key for each candidate of a role, bound to its lease; the one that was created first leads. One
 * watch serves all roles: the server's Campaign call, hundreds at a time, was seen not to return to
 * some leaders after many keys had gone at once. When the lease is lost, so are its roles, and it
 * starts again with another one.
 *
 * <p>Started as: CampaignMember URL TTL_SECONDS ROLES NAME EVENT_FILE; runs until it is killed.
 */
public final class CampaignMember {
  private static final String PREFIX = "roles/";
  private static final int OPERATIONS = 64; // etcd takes 128 in a transaction
  private final Client client;
  private final EventFile events;
  private final ByteSequence name;

  private CampaignMember(Client client, EventFile events, String name) {
    this.client = client;
    this.events = events;
    this.name = bytes(name);
  }

  public static void main(String[] args) throws Exception {
    EventFile events = new EventFile(args[4]);
    CampaignMember member =
        new CampaignMember(Client.builder().endpoints(args[0]).build(), events, args[3]);
    for (;;) {
      member.run(Long.parseLong(args[1]), Integer.parseInt(args[2]));
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  /** Returns when the lease is lost. */
  private void run(long ttl, int roles) throws Exception {
    var granted = client.getLeaseClient().grant(ttl).get();
    long lease = granted.getID();
    events.write("session", "\"ms\":" + 1000 * granted.getTTL());
    CountDownLatch over = new CountDownLatch(1);
    client.getLeaseClient().keepAlive(lease, new UntilOver(over));
    Candidates candidates = new Candidates(Long.toHexString(lease), roles);
    var now = client.getKVClient()
        .get(bytes(PREFIX), GetOption.builder().isPrefix(true).build()).get();
    now.getKvs().forEach(candidates::add);
    var since = WatchOption.builder().isPrefix(true)
        .withRevision(now.getHeader().getRevision() + 1).build();
    try (Watch.Watcher watcher = client.getWatchClient().watch(bytes(PREFIX), since,
        Watch.listener(seen -> seen.getEvents().forEach(candidates::apply),
            failed -> over.countDown()))) {
      enter(lease, roles);
      over.await();
    } catch (ExecutionException failed) {
      System.err.println(failed); // the lease ended while it entered
    }
    candidates.end();
    client.getLeaseClient().revoke(lease).exceptionally(gone -> null).get();
  }

  /** A key for every role. */
  private void enter(long lease, int roles) throws Exception {
    var bound = PutOption.builder().withLeaseId(lease).build();
    List<Op> puts = new ArrayList<>();
    for (int role = 0; role < roles; role++) {
      puts.add(Op.put(bytes(PREFIX + role + "/" + Long.toHexString(lease)), name, bound));
      if (puts.size() == OPERATIONS || role == roles - 1) {
        client.getKVClient().txn().Then(puts.toArray(new Op[0])).commit().get();
        puts.clear();
      }
    }
  }

  /** Ends when the lease does. */
  private record UntilOver(CountDownLatch over) implements StreamObserver<LeaseKeepAliveResponse> {
    @Override
    public void onNext(LeaseKeepAliveResponse response) {}

    @Override
    public void onError(Throwable failed) {
      over.countDown();
    }

    @Override
    public void onCompleted() {
      over.countDown();
    }
  }

  /** The candidates for each role, in the order of their keys' creation, and what we lead. */
  private final class Candidates {
    private final String mine;
    private final List<TreeMap<Long, String>> queues = new ArrayList<>();
    private final Map<String, Long> created = new HashMap<>();
    private final boolean[] leads;
    private int entered;
    private boolean ended;

    Candidates(String mine, int roles) {
      this.mine = mine;
      leads = new boolean[roles];
      for (int role = 0; role < roles; role++) {
        queues.add(new TreeMap<>());
      }
    }

    synchronized void add(KeyValue pair) {
      String[] parts = pair.getKey().toString(StandardCharsets.UTF_8).split("/");
      int role = Integer.parseInt(parts[1]);
      queues.get(role).put(pair.getCreateRevision(), parts[2]);
      created.put(pair.getKey().toString(StandardCharsets.UTF_8), pair.getCreateRevision());
      judge(role);
      if (parts[2].equals(mine) && ++entered == leads.length && !ended) {
        events.write("queued", null);
      }
    }

    synchronized void apply(WatchEvent event) {
      if (event.getEventType() == WatchEvent.EventType.PUT) {
        add(event.getKeyValue());
        return;
      }
      String key = event.getKeyValue().getKey().toString(StandardCharsets.UTF_8);
      int role = Integer.parseInt(key.split("/")[1]);
      queues.get(role).remove(created.remove(key));
      judge(role);
    }

    private void judge(int role) {
      var first = queues.get(role).firstEntry();
      boolean now = !ended && first != null && first.getValue().equals(mine);
      if (now != leads[role]) {
        leads[role] = now;
        events.role(now ? "gained" : "lost", role);
      }
    }

    /** The lease is lost, and all that it held. */
    synchronized void end() {
      ended = true;
      events.write("unqueued", null);
      for (int role = 0; role < leads.length; role++) {
        judge(role);
      }
    }
  }
}
