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
    for (;;) {
      member.campaign(Long.parseLong(args[1]));
    }
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  /** Returns when the lease is lost. */
  private void campaign(long ttl) throws Exception {
    var granted = client.getLeaseClient().grant(ttl).get();
    long lease = granted.getID();
    events.write("session", "\"ms\":" + 1000 * granted.getTTL());
    CountDownLatch over = new CountDownLatch(1);
    client.getLeaseClient().keepAlive(lease, new StreamObserver<LeaseKeepAliveResponse>() {
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
    });
    Set<Integer> held = new HashSet<>();
    for (int i = 0; i < roles; i++) {
      int role = i;
      client.getElectionClient().campaign(bytes("role" + role), lease, name)
          .thenAccept(won -> {
            synchronized (held) {
              if (over.getCount() > 0) {
                events.role("gained", role);
                held.add(role);
              }
            }
          });
    }
    // In the queue for a role is who has a key there.
    var withKeys = LeaseOption.builder().withAttachedKeys().build();
    while (over.getCount() > 0
        && client.getLeaseClient().timeToLive(lease, withKeys).get().getKeys().size() < roles) {
      Thread.sleep(20);
    }
    if (over.getCount() > 0) {
      events.write("queued", null);
    }
    over.await();
    events.write("unqueued", null);
    synchronized (held) {
      held.forEach(role -> events.role("lost", role));
    }
  }
}
