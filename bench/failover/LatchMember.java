import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.RetryNTimes;

/**
 * One process that is a candidate for every role by Apache Curator's LeaderLatch, on ZooKeeper.
 *
 * <p>Started as: LatchMember HOST:PORT SESSION_MS ROLES NAME EVENT_FILE; runs until it is killed.
 */
public final class LatchMember {
  private LatchMember() {}

  public static void main(String[] args) throws Exception {
    EventFile events = new EventFile(args[4]);
    int session = Integer.parseInt(args[1]);
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(args[0], session, session, new RetryNTimes(600, 100));
    client.start();
    client.blockUntilConnected();
    int negotiated = client.getZookeeperClient().getZooKeeper().getSessionTimeout();
    events.write("session", "\"ms\":" + negotiated);

    List<LeaderLatch> latches = new ArrayList<>();
    for (int role = 0; role < Integer.parseInt(args[2]); role++) {
      LeaderLatch latch = new LeaderLatch(client, "/roles/" + role, args[3]);
      int mine = role;
      latch.addListener(new LeaderLatchListener() {
        @Override
        public void isLeader() {
          events.role("gained", mine);
        }

        @Override
        public void notLeader() {
          events.role("lost", mine);
        }
      });
      latch.start();
      latches.add(latch);
    }
    // A process with a node there is in the queue for a role.
    while (latches.stream().anyMatch(latch -> latch.getOurPath() == null)) {
      Thread.sleep(5);
    }
    events.write("queued", null);
    Thread.currentThread().join();
  }
}
