package shop;

import org.springframework.data.mongodb.core.mapping.Document;

@Document("phone_orders")
public record Order(long number, String what) {
}
