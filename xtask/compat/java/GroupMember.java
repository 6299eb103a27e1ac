import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * BOOTSTRAP GROUP TOPIC PROTOCOL [INSTANCE]: one member of a consumer group, on Apache Kafka's own client.
 *
 * <p>Prints {@code has 0,2} whenever its partitions change, {@code got PARTITION OFFSET VALUE} for each record, and
 * {@code committed PARTITION NEXT} once the broker has taken a commit. Leaves the group when stdin ends.
 */
public class GroupMember {
    private static final AtomicBoolean LEAVING = new AtomicBoolean();

    public static void main(String[] args) {
        Thread listener = new Thread(GroupMember::waitForTheEndOfStdin);
        listener.setDaemon(true);
        listener.start();
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("group.id", args[1]);
        config.put("group.protocol", args[3]);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("fetch.max.wait.ms", "200");
        config.put("max.poll.records", "200");
        if (args[3].equals("classic")) {
            config.put("session.timeout.ms", "6000");
            config.put("heartbeat.interval.ms", "300");
        }
        if (args.length > 4) {
            config.put("group.instance.id", args[4]);
        }
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(args[2]), new Told(consumer));
            while (!LEAVING.get()) {
                poll(consumer);
            }
        }
    }

    private static void poll(KafkaConsumer<String, String> consumer) {
        Map<Integer, Long> next = new HashMap<>();
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
            System.out.println("got " + record.partition() + " " + record.offset() + " " + record.value());
            next.put(record.partition(), record.offset() + 1);
        }
        if (next.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync();
            next.forEach((partition, offset) -> System.out.println("committed " + partition + " " + offset));
        } catch (KafkaException error) {
            System.err.println("commit: " + error);
        }
    }

    private static void waitForTheEndOfStdin() {
        try {
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (java.io.IOException closed) {
            // A broken pipe is an end, too.
        }
        LEAVING.set(true);
    }

    private record Told(KafkaConsumer<String, String> consumer) implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> gained) {
            tell();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> gone) {
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> gone) {
        }

        private void tell() {
            String owned = consumer.assignment().stream()
                .map(TopicPartition::partition)
                .sorted()
                .map(String::valueOf)
                .collect(Collectors.joining(","));
            System.out.println("has " + owned);
        }
    }
}
