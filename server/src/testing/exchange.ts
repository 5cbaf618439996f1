import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** Writes bytes to a new connection to the server at `base` and reads until it closes. A text is sent as Latin-1. */
export async function exchange(base: URL, bytes: string) {
  const socket = connect(Number(base.port), base.hostname)
  socket.write(bytes, 'latin1')
  const raw = await text(socket)
  const [head = '', body = ''] = raw.split('\r\n\r\n')
  return { raw, head: `${head}\r\n`, body, status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]) }
}
