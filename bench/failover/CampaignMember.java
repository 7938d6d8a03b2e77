import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.options.LeaseOption;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/**
 * One process that campaigns for every role in etcd's own elections, with one lease that is kept
 * alive. When the lease is lost, so are its roles, and it campaigns anew with another one.
 *
 * <p>Started as: CampaignMember URL TTL_SECONDS ROLES NAME EVENT_FILE; runs until it is killed.
 */
public final class CampaignMember {
  private final Client client;
  private final EventFile events;
  private final int roles;
  private final ByteSequence name;

  private CampaignMember(Client client, EventFile events, int roles, String name) {
    this.client = client;
    this.events = events;
    this.roles = roles;
    this.name = bytes(name);
  }

  public static void main(String[] args) throws Exception {
    EventFile events = new EventFile(args[4]);
    CampaignMember member = new CampaignMember(Client.builder().endpoints(args[0]).build(),
        events, Integer.parseInt(args[2]), args[3]);
    member.warmUp();
    for (;;) {
      member.campaign(Long.parseLong(args[1]));
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  /** Ends when the lease does. */
  private record Watch(CountDownLatch over) implements StreamObserver<LeaseKeepAliveResponse> {
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

  /** Everything once, on a long lease: a short one would end while a JVM loads its classes. */
  private void warmUp() throws Exception {
    long lease = client.getLeaseClient().grant(60).get().getID();
    CountDownLatch over = new CountDownLatch(1);
    var alive = client.getLeaseClient().keepAlive(lease, new Watch(over));
    client.getElectionClient().campaign(name, lease, name).get();
    awaitKeys(lease, 1, over);
    alive.close();
    client.getLeaseClient().revoke(lease).get();
  }

  /** Returns when the lease is lost. */
  private void campaign(long ttl) throws Exception {
    var granted = client.getLeaseClient().grant(ttl).get();
    long lease = granted.getID();
    events.write("session", "\"ms\":" + 1000 * granted.getTTL());
    CountDownLatch over = new CountDownLatch(1);
    client.getLeaseClient().keepAlive(lease, new Watch(over));
    Set<Integer> held = new HashSet<>();
    for (int i = 0; i < roles; i++) {
      int role = i;
      client.getElectionClient().campaign(bytes("role" + role), lease, name)
          .whenComplete((won, failed) -> {
            synchronized (held) {
              if (over.getCount() == 0) {
                return; // an answer for a lease that is lost
              }
              if (failed == null) {
                events.role("gained", role);
                held.add(role);
              } else {
                System.err.println(failed); // the lease may be at fault: anew with another one
                over.countDown();
              }
            }
          });
      // More at a time, and the lease's own messages would come too late at the start.
      if (role % 32 == 31 || role == roles - 1) {
        awaitKeys(lease, role + 1, over);
      }
    }
    if (over.getCount() > 0) {
      events.write("queued", null);
    }
    over.await();
    events.write("unqueued", null);
    synchronized (held) {
      held.forEach(role -> events.role("lost", role));
    }
    // The server keeps a lease alive itself while a campaign with it is under way.
    client.getLeaseClient().revoke(lease).exceptionally(gone -> null).get();
  }

  /** In the queue for a role is who has a key there. */
  private void awaitKeys(long lease, int count, CountDownLatch over) throws Exception {
    var withKeys = LeaseOption.builder().withAttachedKeys().build();
    while (over.getCount() > 0
        && client.getLeaseClient().timeToLive(lease, withKeys).get().getKeys().size() < count) {
      Thread.sleep(5);
    }
  }
}
