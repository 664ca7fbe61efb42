package shop;

import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;

@Document("sequences")
public class Sequence {
    @Id
    public String id;
    public String collName;
    public long seqId;
}
