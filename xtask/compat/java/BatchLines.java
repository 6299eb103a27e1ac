// Builds batches out of descriptions and describes batches with Kafka's own classes, as JSON lines from stdin to stdout.
// Speaks the same lines as protocol/model/examples/batch_lines.rs, whose text says what they hold.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

public final class BatchLines {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        boolean build = arguments[0].equals("build");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode node = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode().put("name", node.get("name").asText());
            if (build) {
                answer.put("hex", build(node));
            } else {
                answer.set("batches", read(bytes(node.get("hex"))));
            }
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    private static String build(JsonNode node) {
        boolean appendTime = node.has("logAppendTime");
        TimestampType type = appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        long now = node.path("logAppendTime").asLong(RecordBatch.NO_TIMESTAMP);
        long baseOffset = node.path("baseOffset").asLong(0);
        long producerId = node.path("producerId").asLong(RecordBatch.NO_PRODUCER_ID);
        short producerEpoch = (short) node.path("producerEpoch").asInt(RecordBatch.NO_PRODUCER_EPOCH);
        int baseSequence = node.path("baseSequence").asInt(RecordBatch.NO_SEQUENCE);
        boolean transactional = node.path("transactional").asBoolean(false);
        int leaderEpoch = node.path("leaderEpoch").asInt(RecordBatch.NO_PARTITION_LEADER_EPOCH);
        JsonNode records = node.get("records");
        if (records.isEmpty()) {
            ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
            DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.CURRENT_MAGIC_VALUE, producerId, producerEpoch,
                baseSequence, baseOffset, node.get("lastOffset").asLong(), leaderEpoch, type,
                RecordBatch.NO_TIMESTAMP, transactional, false);
            return HEX.formatHex(buffer.array());
        }
        long horizon = node.path("deleteHorizon").asLong(RecordBatch.NO_TIMESTAMP);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(new ByteBufferOutputStream(1024),
            RecordBatch.CURRENT_MAGIC_VALUE, compression(node), type, baseOffset, now, producerId, producerEpoch,
            baseSequence, transactional, false, leaderEpoch, Integer.MAX_VALUE, horizon);
        for (JsonNode record : records) {
            JsonNode listed = record.path("headers");
            Header[] headers = new Header[listed.size()];
            for (int at = 0; at < headers.length; at++) {
                String key = new String(bytes(listed.get(at).get(0)), StandardCharsets.UTF_8);
                headers[at] = new RecordHeader(key, bytes(listed.get(at).get(1)));
            }
            builder.appendWithOffset(record.get("offset").asLong(), record.get("timestamp").asLong(),
                bytes(record.get("key")), bytes(record.get("value")), headers);
        }
        if (node.has("lastOffset")) {
            builder.overrideLastOffset(node.get("lastOffset").asLong());
        }
        ByteBuffer built = builder.build().buffer();
        byte[] bytes = new byte[built.remaining()];
        built.get(bytes);
        return HEX.formatHex(bytes);
    }

    private static Compression compression(JsonNode node) {
        String codec = node.get("codec").asText();
        if (!node.has("level")) {
            return Compression.of(codec).build();
        }
        int level = node.get("level").asInt();
        return switch (codec) {
            case "gzip" -> Compression.gzip().level(level).build();
            case "lz4" -> Compression.lz4().level(level).build();
            case "zstd" -> Compression.zstd().level(level).build();
            default -> throw new IllegalArgumentException(codec + " has no levels");
        };
    }

    private static ArrayNode read(byte[] bytes) {
        ArrayNode batches = JSON.createArrayNode();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
            batch.ensureValid();
            ObjectNode described = batches.addObject()
                .put("baseOffset", batch.baseOffset())
                .put("lastOffset", batch.lastOffset())
                .put("leaderEpoch", batch.partitionLeaderEpoch())
                .put("codec", batch.compressionType().name)
                .put("timestampType", batch.timestampType().name)
                .put("maxTimestamp", batch.maxTimestamp())
                .put("producerId", batch.producerId())
                .put("producerEpoch", batch.producerEpoch())
                .put("baseSequence", batch.baseSequence())
                .put("transactional", batch.isTransactional())
                .put("control", batch.isControlBatch())
                .put("count", batch.countOrNull());
            if (batch.deleteHorizonMs().isPresent()) {
                described.put("deleteHorizon", batch.deleteHorizonMs().getAsLong());
            } else {
                described.putNull("deleteHorizon");
            }
            ArrayNode records = described.putArray("records");
            for (Record record : batch) {
                record.ensureValid();
                ObjectNode one = records.addObject().put("offset", record.offset()).put("timestamp", record.timestamp());
                one.put("key", record.hasKey() ? hex(record.key()) : null);
                one.put("value", record.hasValue() ? hex(record.value()) : null);
                ArrayNode headers = one.putArray("headers");
                for (Header header : record.headers()) {
                    String key = HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8));
                    headers.addArray().add(key).add(header.value() == null ? null : HEX.formatHex(header.value()));
                }
            }
        }
        return batches;
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }

    private static byte[] bytes(JsonNode hex) {
        return hex == null || hex.isNull() ? null : HEX.parseHex(hex.asText());
    }
}
