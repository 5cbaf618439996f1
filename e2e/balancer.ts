/**
 * A program that forwards connections to backends in turn. A backend that fails its health check gets no more, and its
 * connections are closed, as load balancers do (HAProxy: `on-marked-down shutdown-sessions`).
 *
 *     node balancer.ts 10.0.0.1 8080 http://10.0.0.2:8080/readyz http://10.0.0.3:8080/readyz
 *     node balancer.ts 10.0.0.1 5432 /run/postgresql/.s.PGSQL.5432
 *
 * `CHECK_TIMEOUT_MS` is the time limit of a health check. Prints its port once it listens.
 */
import { connect, createServer, type Socket } from 'node:net'

const CHECK_MS = 500
const RETRY_TIMEOUT_MS = Number(process.env['CHECK_TIMEOUT_MS'] ?? 1500)
const [host, port, ...targets] = process.argv.slice(2)

const backends = targets.map((target) => {
  const check = target.startsWith('/') ? undefined : new URL(target)
  const open = () => (check ? connect(Number(check.port), check.hostname) : connect(target))
  return { check, open, isUp: true, sockets: new Set<Socket>() }
})

for (const backend of backends) {
  const { check } = backend
  if (!check) continue
  const look = async () => {
    const response = await fetch(check, { signal: AbortSignal.timeout(RETRY_TIMEOUT_MS) }).catch(() => undefined)
    backend.isUp = response?.ok === true
    if (!backend.isUp) for (const socket of backend.sockets) socket.destroy()
    setTimeout(() => void look(), CHECK_MS)
  }
  void look()
}

let turn = 0
const server = createServer((client) => {
  const up = backends.filter(({ isUp }) => isUp)
  turn += 1
  const backend = up[turn % up.length]
  if (!backend) return client.destroy()
  const target = backend.open()
  for (const [socket, other] of [
    [client, target],
    [target, client],
  ] as const) {
    backend.sockets.add(socket)
    socket.pipe(other)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      backend.sockets.delete(socket)
      other.destroy()
    })
  }
  return undefined
})
server.listen(Number(port), host, () => {
  const address = server.address()
  process.stdout.write(`port ${typeof address === 'object' && address ? address.port : ''}\n`)
})
