import { findRows, type LineIndex, lineIndexer, rowTexts } from './line-index.ts'
import type { Message, Question } from './raw-state-messages.ts'

/** A state of 50 MB is held here as the bytes that it is. The page gets only the rows in sight, so that it stays quick. */
let bytes = new Uint8Array()
let index: LineIndex | undefined

const PROGRESS_MS = 100

self.addEventListener('message', ({ data }: MessageEvent<Question>) => {
  if (data.kind === 'open') void open(data)
  else if (!index) return
  else if (data.kind === 'find') {
    const rows = findRows(bytes, index, data.query)
    tell({ kind: 'found', query: data.query, rows }, [rows.buffer])
  } else {
    const { from, to } = data
    tell({
      kind: 'rows',
      from,
      texts: rowTexts(bytes, index, from, to),
      numbers: [...index.numbers.subarray(from, to)],
    })
  }
})

function tell(message: Message, transfer: Transferable[] = []) {
  self.postMessage(message, { transfer })
}

async function open({ url, size }: { url: string; size: number }) {
  try {
    const response = await fetch(url)
    if (!response.ok || !response.body)
      return tell({ kind: 'failed', status: response.status, detail: `the server answered ${response.status}` })
    await read(response.body, size)
  } catch (error) {
    tell({ kind: 'failed', status: undefined, detail: error instanceof Error ? error.message : String(error) })
  }
}

/** Reads all bytes, and finds the lines while they arrive: the first can be seen before the last are there. */
async function read(body: ReadableStream<Uint8Array>, size: number) {
  const indexer = lineIndexer()
  let length = 0
  let told = 0
  bytes = new Uint8Array(size)
  for await (const chunk of chunksOf(body)) {
    if (length + chunk.length > bytes.length) bytes = grown(length + chunk.length)
    bytes.set(chunk, length)
    indexer.add(bytes, length, length + chunk.length)
    length += chunk.length
    if (performance.now() - told > PROGRESS_MS) {
      told = performance.now()
      index = indexer.soFar()
      tellOpened(index, { received: length, isWhole: false })
    }
  }
  index = indexer.finish(length)
  tellOpened(index, { received: length, isWhole: true })
}

function tellOpened({ rows, numbers }: LineIndex, state: { received: number; isWhole: boolean }) {
  tell({ kind: 'opened', rows, lines: numbers.at(-1) ?? 0, ...state })
}

/** Not every browser iterates over streams. */
async function* chunksOf(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader()
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
}

function grown(needed: number) {
  const larger = new Uint8Array(Math.max(needed, bytes.length * 2))
  larger.set(bytes)
  return larger
}
