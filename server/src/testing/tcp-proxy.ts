import { createServer, type Socket } from 'node:net'
import { atEnd } from './cleanup.ts'
import { listen } from './ports.ts'

/**
 * Starts a TCP proxy until the test ends, or the test file; returns its port. `open` connects to the target for each client, `pass` forwards data between the
 * two, and each closes with the other.
 */
export async function createTcpProxy(open: () => Socket, pass: (client: Socket, target: Socket) => void) {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => other.destroy())
  }
  const server = createServer((client) => {
    const target = open()
    keep(client, target)
    keep(target, client)
    pass(client, target)
  })
  atEnd(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return listen(server)
}
