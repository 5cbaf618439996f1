import { createServer, type Socket } from 'node:net'
import { whenFileEnds } from './cleanup.ts'
import { listen } from './ports.ts'

/**
 * A TCP proxy, which ends with the test file; answers its port. `open` connects to the target for each client, and `pass`
 * passes the bytes between the two. When one of them ends, so does the other.
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
  whenFileEnds(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return listen(server)
}
