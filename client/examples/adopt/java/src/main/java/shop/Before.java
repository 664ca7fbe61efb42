package shop;

import static org.springframework.data.mongodb.core.FindAndModifyOptions.options;
import static org.springframework.data.mongodb.core.query.Criteria.where;
import static org.springframework.data.mongodb.core.query.Query.query;

import java.util.Scanner;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.SimpleMongoClientDatabaseFactory;
import org.springframework.data.mongodb.core.query.Update;

/**
 * Before: the next number of an order comes from Spring Data's findAndModify. Stores an order for
 * each line of the standard input and prints its number.
 */
public class Before {
    static long nextNumber(MongoTemplate mongo, String name) {
        Sequence sequence = mongo.findAndModify(query(where("collName").is(name)),
                new Update().inc("seqId", 1), options().returnNew(true).upsert(true),
                Sequence.class);
        return sequence.seqId;
    }

    public static void main(String[] arguments) throws Exception {
        String uri = System.getenv().getOrDefault("MONGO_URI",
                "mongodb://127.0.0.1:27117/shop?replicaSet=set0");
        var mongoFactory = new SimpleMongoClientDatabaseFactory(uri);
        var mongo = new MongoTemplate(mongoFactory);
        for (var lines = new Scanner(System.in); lines.hasNextLine();) {
            var order = new Order(nextNumber(mongo, "phone_orders"), lines.nextLine());
            mongo.insert(order);
            System.out.println(order.number());
        }
        mongoFactory.destroy();
    }
}
