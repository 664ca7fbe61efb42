// After: the next number of an order comes from idmintd. Stores an order for each line of the
// standard input and prints its number.
import { createInterface } from 'node:readline'
import Redis from 'ioredis'
import mongoose from 'mongoose'

const uri = process.env.MONGO_URI ?? 'mongodb://127.0.0.1:27117/shop?replicaSet=set0'
const mint = new Redis(process.env.MINT_URL ?? 'redis://127.0.0.1:7377')
const schema = new mongoose.Schema({ number: Number, what: String }, { collection: 'web_orders' })
schema.pre('save', async function () {
  if (this.isNew) this.number = await mint.incr('web_orders')
})
const Order = mongoose.model('Order', schema)

await mongoose.connect(uri)
for await (const what of createInterface({ input: process.stdin })) {
  const order = await Order.create({ what })
  console.log(order.number)
}
await mongoose.disconnect()
mint.disconnect()
