// node example.mjs 127.0.0.1:9092 http://127.0.0.1:8474
import { Kafka, logLevel } from 'kafkajs'

const [servers, url] = process.argv.slice(2)

async function control(method, path, document = undefined) {
  const response = await fetch(url + path, { method, body: document && JSON.stringify(document) })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${answer.at}: ${answer.error}`)
  return answer
}

await control('POST', '/topics', { name: 'orders-node' })
const elect = await control('POST', '/faults', { do: 'elect', topic: 'orders-node', partition: 0, when: { api: 'Fetch', topic: 'orders-node', nth: 2 } })

const kafka = new Kafka({ brokers: servers.split(','), logLevel: logLevel.NOTHING })
const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
const consumer = kafka.consumer({ groupId: 'billing' })
await Promise.all([producer.connect(), consumer.connect()])
await consumer.subscribe({ topic: 'orders-node', fromBeginning: true })
const seen = []
await consumer.run({ eachMessage: async ({ message }) => { seen.push(String(message.value)) } })

await producer.send({ topic: 'orders-node', messages: [{ value: 'one' }] })
const { acted } = await control('GET', `/faults/${elect.id}?acted=1&wait_ms=20000`)
await producer.send({ topic: 'orders-node', messages: [{ value: 'two' }] }) // goes to the new leader
while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 50))
if (acted !== 1 || seen.join() !== 'one,two') throw new Error(`${acted}: ${seen}`)
await Promise.all([producer.disconnect(), consumer.disconnect()])
