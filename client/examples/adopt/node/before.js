// Before: the next number of an order comes from the plugin mongoose-sequence. Stores an order for
// each line of the standard input and prints its number.
import { createInterface } from 'node:readline'
import mongoose from 'mongoose'
import sequence from 'mongoose-sequence'

const uri = process.env.MONGO_URI ?? 'mongodb://127.0.0.1:27117/shop?replicaSet=set0'
const schema = new mongoose.Schema({ number: Number, what: String }, { collection: 'web_orders' })
schema.plugin(sequence(mongoose), {
  id: 'web_order_number',
  inc_field: 'number',
  collection_name: 'web_counters',
})
const Order = mongoose.model('Order', schema)

await mongoose.connect(uri)
for await (const what of createInterface({ input: process.stdin })) {
  const order = await Order.create({ what })
  console.log(order.number)
}
await mongoose.disconnect()
