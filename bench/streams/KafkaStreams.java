import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/**
 * The yardstick: reads a topic, changes one byte of each record, writes it to another, exactly once.
 *
 *     java -cp '...' KafkaStreams.java <broker> <application id> <from> <to> <records>
 *
 * Ends after so many records, when they are committed. Settings are those of Kafka Streams but for the guarantee and
 * the commit interval, whose default under it is 100 ms.
 */
class Transform {
  public static void main(String[] args) throws Exception {
    final long records = Long.parseLong(args[4]);
    final Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, args[5]);
    settings.put("auto.offset.reset", "earliest");
    settings.put("replication.factor", "1");
    final AtomicLong seen = new AtomicLong();
    final CountDownLatch all = new CountDownLatch(1);
    final StreamsBuilder builder = new StreamsBuilder();
    builder
        .stream(args[2], org.apache.kafka.streams.kstream.Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
        .mapValues(
            value -> {
              value[0] ^= 1;
              if (seen.incrementAndGet() == records) all.countDown();
              return value;
            })
        .to(args[3], org.apache.kafka.streams.kstream.Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
    final KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    streams.start();
    all.await();
    // Closing commits what is open.
    streams.close();
    System.out.println("done");
  }
}
