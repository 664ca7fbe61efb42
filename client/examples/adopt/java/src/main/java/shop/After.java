package shop;

import java.net.URI;
import java.util.Scanner;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.SimpleMongoClientDatabaseFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.support.atomic.RedisAtomicLong;

/**
 * After: the next number of an order comes from idmintd, by Spring Data's RedisAtomicLong. Stores
 * an order for each line of the standard input and prints its number.
 */
public class After {
    public static void main(String[] arguments) throws Exception {
        String uri = System.getenv().getOrDefault("MONGO_URI",
                "mongodb://127.0.0.1:27117/shop?replicaSet=set0");
        URI mint = URI.create(System.getenv().getOrDefault("MINT_URL", "redis://127.0.0.1:7377"));
        var mongoFactory = new SimpleMongoClientDatabaseFactory(uri);
        var mongo = new MongoTemplate(mongoFactory);
        var mintFactory = new LettuceConnectionFactory(mint.getHost(), mint.getPort());
        mintFactory.afterPropertiesSet();
        mintFactory.start();
        var numbers = new RedisAtomicLong("phone_orders", mintFactory);
        for (var lines = new Scanner(System.in); lines.hasNextLine();) {
            var order = new Order(numbers.incrementAndGet(), lines.nextLine());
            mongo.insert(order);
            System.out.println(order.number());
        }
        mintFactory.destroy();
        mongoFactory.destroy();
    }
}
