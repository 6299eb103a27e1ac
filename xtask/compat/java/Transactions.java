import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * BOOTSTRAP: a transactional producer and readers of both isolations, on Apache Kafka's own client.
 *
 * <p>The topics ja, ja-fence, ja-late, ja-source and ja-copied are there, with two partitions each. Prints a line for each
 * step. Leaves a transaction open at the end.
 */
public class Transactions {
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final int RECORDS = 20;
    private static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        ends();
        fence();
        late();
        copy();
        leaveOpen();
        // Without closing anything: the open transaction stays open.
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static KafkaProducer<String, String> producer(String id, int timeoutMs) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("transactional.id", id);
        config.put("transaction.timeout.ms", Integer.toString(timeoutMs));
        var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static void send(KafkaProducer<String, String> producer, String topic, int partition, String value)
            throws Exception {
        producer.send(new ProducerRecord<>(topic, partition, null, value)).get(30, TimeUnit.SECONDS);
    }

    private static KafkaConsumer<String, String> consumer(String group, String isolation) {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("group.id", group);
        config.put("isolation.level", isolation);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** All values that a reader of this isolation sees. */
    private static List<List<String>> values(String topic, String isolation) {
        List<List<String>> found = List.of(new ArrayList<>(), new ArrayList<>());
        try (var consumer = consumer("reader", isolation)) {
            var partitions = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(it -> consumer.position(it) < ends.get(it))) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    found.get(record.partition()).add(record.value());
                }
            }
        }
        return found;
    }

    private static void tell(String step, String topic, String more) {
        System.out.println(step + ": committed " + values(topic, "read_committed") + " all "
                + values(topic, "read_uncommitted") + more);
    }

    private static void ends() throws Exception {
        try (var producer = producer("ja", 60_000)) {
            for (String ends : List.of("commit 0", "abort 1", "commit 2")) {
                producer.beginTransaction();
                send(producer, "ja", 0, ends);
                send(producer, "ja", 1, ends);
                if (ends.startsWith("commit")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        tell("commit, abort, commit", "ja", "");
    }

    private static String refusal(Runnable action) {
        try {
            action.run();
            return " taken";
        } catch (KafkaException error) {
            return " refused " + error.getClass().getSimpleName();
        }
    }

    private static void fence() throws Exception {
        var first = producer("ja-fence", 60_000);
        first.beginTransaction();
        send(first, "ja-fence", 0, "of the first");
        try (var second = producer("ja-fence", 60_000)) {
            String told = refusal(first::commitTransaction);
            second.beginTransaction();
            send(second, "ja-fence", 0, "of the second");
            second.commitTransaction();
            tell("a second instance", "ja-fence", told);
        }
    }

    private static void late() throws Exception {
        var late = producer("ja-late", 1_000);
        late.beginTransaction();
        send(late, "ja-late", 0, "too late");
        var partition = new TopicPartition("ja-late", 0);
        try (var looker = consumer("looker", "read_committed")) {
            while (looker.endOffsets(List.of(partition)).get(partition) == 0) {
                Thread.onSpinWait();
            }
        }
        tell("a time-out", "ja-late", refusal(late::commitTransaction));
    }

    private static void copy() throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        try (var source = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                send(source, "ja-source", number % 2, Integer.toString(number));
            }
        }
        var partitions = List.of(new TopicPartition("ja-source", 0), new TopicPartition("ja-source", 1));
        try (var producer = producer("ja-copy", 60_000); var consumer = consumer("ja-copiers", "read_committed")) {
            consumer.assign(partitions);
            int rounds = 0;
            while (partitions.stream().anyMatch(it -> consumer.position(it) < RECORDS / 2)) {
                var records = consumer.poll(WAIT);
                producer.beginTransaction();
                for (var record : records) {
                    send(producer, "ja-copied", record.partition(), record.value());
                }
                Map<TopicPartition, OffsetAndMetadata> next = new java.util.HashMap<>();
                records.forEach(it -> next.put(
                        new TopicPartition(it.topic(), it.partition()), new OffsetAndMetadata(it.offset() + 1)));
                producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                if (++rounds % 2 == 1) {
                    producer.abortTransaction();
                    for (var partition : partitions) {
                        var committed = consumer.committed(java.util.Set.of(partition)).get(partition);
                        consumer.seek(partition, committed == null ? 0 : committed.offset());
                    }
                } else {
                    producer.commitTransaction();
                }
            }
        }
        System.out.println("offsets within transactions: " + values("ja-copied", "read_committed"));
    }

    private static void leaveOpen() throws Exception {
        var open = producer("ja-open", 600_000);
        open.beginTransaction();
        send(open, "ja", 0, "open");
        System.out.println("left open");
    }
}
