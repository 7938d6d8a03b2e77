import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.PreferredLeaderNotAvailableException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Administration of a test broker for one test process: one JSON request a line on stdin, one JSON
 * answer a line on stdout. Long-lived, because every start of a JVM costs a second and a test makes
 * dozens of such calls.
 *
 * <p>Started as: KafkaAdmin BOOTSTRAP [PROPERTIES_FILE]; ends when stdin ends.
 */
public final class KafkaAdmin {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final Properties client = new Properties();
  private final Admin admin;
  private final Set<String> seen = new HashSet<>(); // topics that some broker knew
  private final Set<String> deleted = new HashSet<>(); // here; some broker may know them still
  private KafkaProducer<byte[], byte[]> producer;
  private Thread foreign;
  private volatile boolean foreignStays;

  private KafkaAdmin(String bootstrap, String file) throws Exception {
    if (file != null) {
      try (FileInputStream in = new FileInputStream(file)) {
        client.load(in);
      }
    }
    client.put("bootstrap.servers", bootstrap);
    client.put("reconnect.backoff.ms", "20");
    client.put("reconnect.backoff.max.ms", "200");
    client.put("retry.backoff.ms", "20");
    Properties forAdmin = new Properties();
    forAdmin.putAll(client);
    forAdmin.put("request.timeout.ms", "3000");
    forAdmin.put("default.api.timeout.ms", "10000");
    admin = Admin.create(forAdmin);
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    KafkaAdmin helper = new KafkaAdmin(args[0], args.length > 1 ? args[1] : null);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        helper.carryOut(JSON.readTree(line), answer);
        answer.put("ok", true);
      } catch (Throwable thrown) {
        Throwable cause = thrown instanceof ExecutionException ? thrown.getCause() : thrown;
        answer.put("ok", false).put("error", cause.getClass().getSimpleName());
        answer.put("message", String.valueOf(cause.getMessage()));
      }
      out.println(JSON.writeValueAsString(answer));
    }
    System.exit(0); // network threads would linger while a broker is away
  }

  private void carryOut(JsonNode ask, ObjectNode answer) throws Exception {
    switch (ask.get("op").asText()) {
      case "wait_ready" -> waitReady(ask);
      case "create_topic" -> createTopic(ask);
      case "delete_topic" -> deleteTopic(ask);
      case "describe_topic" -> describeTopic(ask, answer);
      case "alter_config" -> alterConfig(ask);
      case "describe_config" -> describeConfig(ask, answer);
      case "add_partitions" -> addPartitions(ask);
      case "produce" -> produce(ask, answer);
      case "read" -> read(ask, answer);
      case "end_offsets" -> endOffsets(ask, answer);
      case "delete_records" -> deleteRecords(ask);
      case "describe_group" -> describeGroup(ask, answer);
      case "delete_group" -> admin.deleteConsumerGroups(List.of(text(ask, "group"))).all().get();
      case "add_acls" -> addAcls(ask);
      case "delete_acls" -> deleteAcls(ask);
      case "join_group" -> joinGroup(ask);
      case "leave_group" -> leaveGroup();
      case "move_leader" -> moveLeader(ask);
      default -> throw new IllegalArgumentException("unknown op " + ask.get("op"));
    }
  }

  private static String text(JsonNode ask, String field) {
    if (!ask.hasNonNull(field)) {
      throw new IllegalArgumentException("needs " + field);
    }
    return ask.get(field).asText();
  }

  private static byte[] bytes(JsonNode node) {
    return node == null || node.isNull() ? null : Base64.getDecoder().decode(node.asText());
  }

  private static Map<String, String> map(JsonNode node) {
    Map<String, String> made = new HashMap<>();
    if (node != null) {
      node.fields().forEachRemaining(field -> made.put(field.getKey(), field.getValue().asText()));
    }
    return made;
  }

  /** Until that many brokers are registered and unfenced: only then can a topic be made. */
  private void waitReady(JsonNode ask) throws Exception {
    long deadline = System.nanoTime() + ask.get("timeout_ms").asLong() * 1_000_000L;
    for (;;) {
      Throwable last = null;
      try {
        if (admin.describeCluster().nodes().get().size() >= ask.get("nodes").asInt()) {
          return;
        }
      } catch (ExecutionException failed) {
        last = failed.getCause();
      }
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("brokers not ready: " + last);
      }
      Thread.sleep(20);
    }
  }

  private void createTopic(JsonNode ask) throws Exception {
    int partitions = ask.get("partitions").asInt();
    NewTopic topic;
    if (ask.hasNonNull("replicas")) {
      JsonNode given = ask.get("replicas");
      Map<Integer, List<Integer>> assigned = new HashMap<>();
      for (int i = 0; i < partitions; i++) {
        List<Integer> replicas = new ArrayList<>();
        (given.get(0).isArray() ? given.get(i) : given)
            .forEach(node -> replicas.add(node.asInt()));
        assigned.put(i, replicas);
      }
      topic = new NewTopic(text(ask, "topic"), assigned);
    } else {
      topic = new NewTopic(text(ask, "topic"), partitions,
          (short) ask.path("replication").asInt(1));
    }
    admin.createTopics(List.of(topic.configs(map(ask.get("config"))))).all().get();
    awaitTopic(text(ask, "topic"), ask.get("partitions").asInt());
  }

  /** Whether it holds within ten seconds; who waits for an answer gives up after a minute. */
  private static boolean soon(Callable<Boolean> holds) throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (!holds.call()) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      Thread.sleep(20);
    }
    return true;
  }

  /** Creation is answered by the controller, before the brokers know of it. */
  private void awaitTopic(String topic, int partitions) throws Exception {
    boolean there = soon(() -> {
      TopicDescription found = describeOnce(topic);
      return found != null && found.partitions().size() == partitions && found.partitions()
          .stream().allMatch(p -> p.leader() != null && !p.leader().isEmpty());
    });
    if (!there) {
      throw new IllegalStateException("topic " + topic + " did not appear");
    }
    deleted.remove(topic);
    seen.add(topic);
  }

  /** Any broker is asked, and one that lags does not know yet what another one said before. */
  private TopicDescription describe(String topic) throws Exception {
    AtomicReference<TopicDescription> found = new AtomicReference<>();
    boolean settled = soon(() -> {
      found.set(describeOnce(topic));
      return found.get() != null || !seen.contains(topic);
    });
    if (!settled) {
      seen.remove(topic); // somebody else has deleted it
    }
    if (found.get() == null) {
      throw new UnknownTopicOrPartitionException("no broker that was asked has " + topic);
    }
    if (!deleted.contains(topic)) {
      seen.add(topic);
    }
    return found.get();
  }

  /** Null if the broker that was asked does not know it. */
  private TopicDescription describeOnce(String topic) throws Exception {
    try {
      return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof UnknownTopicOrPartitionException) {
        return null;
      }
      throw failed;
    }
  }

  private void deleteTopic(JsonNode ask) throws Exception {
    String topic = text(ask, "topic");
    admin.deleteTopics(List.of(topic)).all().get();
    seen.remove(topic);
    deleted.add(topic);
    if (!soon(() -> describeOnce(topic) == null)) {
      throw new IllegalStateException("topic is still there");
    }
  }

  private void describeTopic(JsonNode ask, ObjectNode answer) throws Exception {
    TopicDescription found = describe(text(ask, "topic"));
    answer.put("id", found.topicId().toString());
    ArrayNode leaders = answer.putArray("leaders");
    found.partitions().forEach(p -> leaders.add(p.leader() == null ? -1 : p.leader().id()));
    ArrayNode inSync = answer.putArray("in_sync");
    found.partitions().forEach(p -> inSync.add(p.isr().size()));
  }

  private static ConfigResource resource(JsonNode ask) {
    return new ConfigResource(ConfigResource.Type.valueOf(text(ask, "type")), text(ask, "name"));
  }

  private void alterConfig(JsonNode ask) throws Exception {
    List<AlterConfigOp> ops = new ArrayList<>();
    map(ask.get("config")).forEach((key, value) ->
        ops.add(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET)));
    admin.incrementalAlterConfigs(Map.of(resource(ask), ops)).all().get();
  }

  private void describeConfig(JsonNode ask, ObjectNode answer) throws Exception {
    ObjectNode values = answer.putObject("config");
    admin.describeConfigs(List.of(resource(ask))).all().get().get(resource(ask)).entries()
        .forEach(entry -> values.put(entry.name(), entry.value()));
  }

  private void addPartitions(JsonNode ask) throws Exception {
    int total = ask.get("total").asInt();
    admin.createPartitions(Map.of(text(ask, "topic"), NewPartitions.increaseTo(total))).all().get();
    awaitTopic(text(ask, "topic"), total);
  }

  private void produce(JsonNode ask, ObjectNode answer) throws Exception {
    if (producer == null) {
      Properties settings = new Properties();
      settings.putAll(client);
      settings.put("acks", "all");
      settings.put("max.request.size", "8000000");
      settings.put("max.block.ms", "10000");
      settings.put("delivery.timeout.ms", "10000");
      settings.put("request.timeout.ms", "5000");
      producer =
          new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
    ArrayNode offsets = answer.putArray("offsets");
    try {
      for (JsonNode value : ask.get("values")) {
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(text(ask, "topic"),
            ask.get("partition").asInt(), bytes(ask.get("key")), bytes(value));
        offsets.add(producer.send(record).get().offset());
      }
    } catch (ExecutionException e) {
      // After a record that was not acknowledged, this client may number the next ones such that
      // brokers refuse each of them (OutOfOrderSequenceException): begin with another producer.
      producer.close(Duration.ZERO);
      producer = null;
      throw e;
    }
  }

  private void read(JsonNode ask, ObjectNode answer) throws Exception {
    TopicPartition from = new TopicPartition(text(ask, "topic"), ask.get("partition").asInt());
    ArrayNode records = answer.putArray("records");
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(client, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(List.of(from));
      long low = consumer.beginningOffsets(List.of(from)).get(from);
      consumer.seek(from, Math.max(low, ask.path("offset").asLong(0)));
      long end = consumer.endOffsets(List.of(from)).get(from);
      int most = ask.path("most").asInt(100_000);
      while (consumer.position(from) < end && records.size() < most) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          ObjectNode row = records.addObject().put("offset", record.offset());
          row.put("timestamp", record.timestamp());
          row.put("timestamp_type", record.timestampType().toString());
          byte[] value = record.value();
          row.put("value", value == null ? null : Base64.getEncoder().encodeToString(value));
        }
      }
    }
  }

  private void endOffsets(JsonNode ask, ObjectNode answer) throws Exception {
    String topic = text(ask, "topic");
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    int partitions = describe(topic).partitions().size();
    for (int i = 0; i < partitions; i++) {
      wanted.put(new TopicPartition(topic, i), OffsetSpec.latest());
    }
    Map<Integer, Long> sorted = new TreeMap<>();
    admin.listOffsets(wanted).all().get()
        .forEach((where, info) -> sorted.put(where.partition(), info.offset()));
    ArrayNode offsets = answer.putArray("offsets");
    sorted.values().forEach(offsets::add);
  }

  private void deleteRecords(JsonNode ask) throws Exception {
    TopicPartition where = new TopicPartition(text(ask, "topic"), ask.get("partition").asInt());
    RecordsToDelete before = RecordsToDelete.beforeOffset(ask.get("before").asLong());
    admin.deleteRecords(Map.of(where, before)).all().get();
  }

  private void describeGroup(JsonNode ask, ObjectNode answer) throws Exception {
    String name = text(ask, "group");
    ConsumerGroupDescription group =
        admin.describeConsumerGroups(List.of(name)).all().get().get(name);
    answer.put("state", group.state().toString());
    answer.put("coordinator", group.coordinator() == null ? -1 : group.coordinator().id());
    ArrayNode members = answer.putArray("members");
    group.members().forEach(member -> {
      ObjectNode row = members.addObject().put("member", member.consumerId());
      row.put("client", member.clientId());
      ArrayNode partitions = row.putArray("partitions");
      member.assignment().topicPartitions().stream().map(TopicPartition::partition).sorted()
          .forEach(partitions::add);
    });
  }

  private static List<AclBinding> acls(JsonNode ask) {
    List<AclBinding> bindings = new ArrayList<>();
    ResourcePattern pattern = new ResourcePattern(ResourceType.valueOf(text(ask, "type")),
        text(ask, "name"), PatternType.LITERAL);
    AclPermissionType permission = AclPermissionType.valueOf(text(ask, "permission"));
    for (JsonNode operation : ask.get("operations")) {
      bindings.add(new AclBinding(pattern, new AccessControlEntry(text(ask, "principal"), "*",
          AclOperation.valueOf(operation.asText()), permission)));
    }
    return bindings;
  }

  private void addAcls(JsonNode ask) throws Exception {
    admin.createAcls(acls(ask)).all().get();
    awaitAcls(ask, true);
  }

  private void deleteAcls(JsonNode ask) throws Exception {
    admin.deleteAcls(acls(ask).stream().map(AclBinding::toFilter).toList()).all().get();
    awaitAcls(ask, false);
  }

  /** The controller has taken them; the broker hears of that a moment later. */
  private void awaitAcls(JsonNode ask, boolean there) throws Exception {
    List<AclBinding> wanted = acls(ask);
    boolean heard = soon(() -> {
      Collection<AclBinding> known = admin.describeAcls(AclBindingFilter.ANY).values().get();
      return wanted.stream().allMatch(one -> known.contains(one) == there);
    });
    if (!heard) {
      throw new IllegalStateException("the broker does not hear of the ACLs");
    }
  }

  /** A consumer that knows nothing of neliroute: assigned partitions, it never claims them. */
  private void joinGroup(JsonNode ask) {
    Properties settings = new Properties();
    settings.putAll(client);
    settings.put("group.id", text(ask, "group"));
    settings.put("enable.auto.commit", "false");
    if (text(ask, "protocol").equals("consumer")) {
      settings.put("group.protocol", "consumer");
    } else {
      settings.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
      settings.put("session.timeout.ms", "3000");
      settings.put("heartbeat.interval.ms", "300");
    }
    String topic = text(ask, "topic");
    foreignStays = true;
    foreign = new Thread(() -> {
      try (KafkaConsumer<byte[], byte[]> consumer =
          new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        consumer.subscribe(List.of(topic));
        while (foreignStays) {
          consumer.poll(Duration.ofMillis(50));
        }
      }
    });
    foreign.setDaemon(true);
    foreign.start();
  }

  private void leaveGroup() throws InterruptedException {
    foreignStays = false;
    foreign.join(15_000);
  }

  /** Puts one broker first among the replicas and elects it. */
  private void moveLeader(JsonNode ask) throws Exception {
    TopicPartition where = new TopicPartition(text(ask, "topic"), ask.get("partition").asInt());
    int leader = ask.get("broker").asInt();
    List<Integer> replicas = new ArrayList<>(List.of(leader));
    describe(where.topic()).partitions().get(where.partition()).replicas().forEach(node -> {
      if (node.id() != leader) {
        replicas.add(node.id());
      }
    });
    admin.alterPartitionReassignments(
        Map.of(where, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
    soon(() -> admin.listPartitionReassignments(Set.of(where)).reassignments().get().isEmpty());
    // The new leader may not be in sync yet.
    AtomicReference<Throwable> failed = new AtomicReference<>();
    soon(() -> {
      failed.set(electPreferred(where));
      return !(failed.get() instanceof PreferredLeaderNotAvailableException);
    });
    if (failed.get() != null) {
      throw new IllegalStateException(failed.get());
    }
  }

  /** What kept it from being elected; null: nothing. */
  private Throwable electPreferred(TopicPartition where) throws Exception {
    try {
      Throwable failed = admin.electLeaders(ElectionType.PREFERRED, Set.of(where)).partitions()
          .get().get(where).orElse(null);
      return failed instanceof ElectionNotNeededException ? null : failed;
    } catch (ExecutionException failed) {
      return failed.getCause();
    }
  }
}
