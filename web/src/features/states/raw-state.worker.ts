import { findRows, type LineIndex, lineIndexer, rowTexts } from './line-index.ts'
import type { WorkerMessage, WorkerRequest } from './raw-state.ts'

/** The state, up to 50 MB, stays here as bytes; the page receives only the visible rows. */
let bytes = new Uint8Array()
let index: LineIndex | undefined

const PROGRESS_INTERVAL_MS = 100

self.addEventListener('message', ({ data }: MessageEvent<WorkerRequest>) => {
  if (data.kind === 'open') void open(data)
  else if (!index) return
  else if (data.kind === 'find') {
    const rows = findRows(bytes, index, data.query)
    send({ kind: 'found', query: data.query, rows }, [rows.buffer])
  } else {
    const { from, to } = data
    const numbers = [...index.numbers.subarray(from, to)]
    send({ kind: 'rows', from, texts: rowTexts(bytes, index, from, to), numbers })
  }
})

function send(message: WorkerMessage, transfer: Transferable[] = []) {
  self.postMessage(message, { transfer })
}

async function open({ url, size }: { url: string; size: number }) {
  try {
    const response = await fetch(url)
    if (!response.ok || !response.body)
      return send({ kind: 'failed', status: response.status, detail: `the server returned ${response.status}` })
    await read(response.body, size)
  } catch (error) {
    send({ kind: 'failed', status: undefined, detail: error instanceof Error ? error.message : String(error) })
  }
}

/** Indexes the lines while the bytes arrive, so that the first ones can be shown immediately. */
async function read(body: ReadableStream<Uint8Array>, size: number) {
  const indexer = lineIndexer()
  let length = 0
  let reportedAt = 0
  bytes = new Uint8Array(size)
  for await (const chunk of chunksOf(body)) {
    if (length + chunk.length > bytes.length) bytes = enlarged(length + chunk.length)
    bytes.set(chunk, length)
    indexer.add(bytes, length, length + chunk.length)
    length += chunk.length
    if (performance.now() - reportedAt > PROGRESS_INTERVAL_MS) {
      reportedAt = performance.now()
      report(indexer.snapshot(), length, false)
    }
  }
  report(indexer.finish(length), length, true)
}

function report(current: LineIndex, received: number, isComplete: boolean) {
  index = current
  send({ kind: 'opened', rows: current.rows, lines: current.numbers.at(-1) ?? 0, received, isComplete })
}

/** Not all browsers support async iteration of streams. */
async function* chunksOf(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader()
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value
}

function enlarged(minLength: number) {
  const larger = new Uint8Array(Math.max(minLength, bytes.length * 2))
  larger.set(bytes)
  return larger
}
