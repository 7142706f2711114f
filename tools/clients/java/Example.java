// java -cp 'jars/*' Example.java 127.0.0.1:9092 http://127.0.0.1:8474

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Example {
    static String control(String url, String method, String json) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.ofString(json)).build();
        var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() >= 400) throw new AssertionError(response.body());
        return response.body();
    }

    public static void main(String[] args) throws Exception {
        control(args[1] + "/topics", "POST", "{\"name\": \"orders-java\"}");
        control(args[1] + "/faults", "POST", """
            {"do": "error", "error": "NOT_LEADER_OR_FOLLOWER", "when": {"api": "Produce", "topic": "orders-java", "times": 2}}""");
        var settings = Map.<String, Object>of("bootstrap.servers", args[0]);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            var sent = producer.send(new ProducerRecord<>("orders-java", "one")).get(); // succeeds at the third attempt
            var requests = control(args[1] + "/requests?api=Produce&topic=orders-java&count=3&wait_ms=5000", "GET", "");
            if (sent.offset() != 0 || requests.split("NOT_LEADER_OR_FOLLOWER").length != 3) throw new AssertionError(requests);
        }
    }
}
