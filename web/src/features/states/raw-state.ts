import { useCallback, useEffect, useRef, useState } from 'react'

export type WorkerRequest =
  /** Loads the state; `size` is the expected number of bytes. */
  | { kind: 'open'; url: string; size: number }
  | { kind: 'rows'; from: number; to: number }
  | { kind: 'find'; query: string }

export type WorkerMessage =
  /** These rows can be read; more follow until `isComplete`. */
  | { kind: 'opened'; rows: number; lines: number; received: number; isComplete: boolean }
  | { kind: 'failed'; status: number | undefined; detail: string }
  | { kind: 'rows'; from: number; texts: string[]; numbers: number[] }
  | { kind: 'found'; query: string; rows: Uint32Array }

/** Rows are loaded in blocks; the most recent blocks are cached. */
const BLOCK_ROWS = 200
const MAX_CACHED_BLOCKS = 40

export type Row = { text: string; number: number }

type Status =
  | { kind: 'loading' }
  /** At least the first rows are available. */
  | { kind: 'open'; rows: number; lines: number; received: number; isComplete: boolean }
  | { kind: 'failed'; detail: string; isMissing: boolean }
  | { kind: 'canceled' }

/** Loads and searches a raw state in a worker. Ignores changes of `url`, since each API response has a new one. */
export function useRawState({ url, size }: { url: string; size: number }) {
  const [source, setSource] = useState({ url, size })
  const [status, setStatus] = useState<Status>({ kind: 'loading' })
  const [matches, setMatches] = useState<{ query: string; rows: Uint32Array }>()
  const [, render] = useState(0)
  const worker = useRef<Worker>(undefined)
  const blocks = useRef(new Map<number, Row[] | undefined>())

  useEffect(() => {
    const own = new Worker(new URL('./raw-state.worker.ts', import.meta.url), { type: 'module' })
    worker.current = own
    const cache = blocks.current
    own.addEventListener('message', ({ data }: MessageEvent<WorkerMessage>) => {
      if (data.kind === 'opened') {
        // Blocks at the previous end may be incomplete.
        for (const [block, rows] of cache) if ((rows?.length ?? 0) < BLOCK_ROWS) cache.delete(block)
        setStatus({ ...data, kind: 'open' })
      } else if (data.kind === 'failed')
        setStatus({ kind: 'failed', detail: data.detail, isMissing: data.status === 404 })
      else if (data.kind === 'found') setMatches({ query: data.query, rows: data.rows })
      else {
        const rows = data.texts.map((text, at) => ({ text, number: data.numbers[at] ?? 0 }))
        cache.set(data.from / BLOCK_ROWS, rows)
        render((count) => count + 1)
      }
    })
    own.addEventListener('error', () =>
      setStatus({ kind: 'failed', detail: 'the browser can’t read the state', isMissing: false }),
    )
    send(own, { kind: 'open', ...source, url: new URL(source.url, document.baseURI).href })
    return () => {
      own.terminate()
      cache.clear()
    }
  }, [source])

  /** Returns a row if it is cached; otherwise requests it and renders again when it arrives. */
  const rowAt = useCallback((row: number): Row | undefined => {
    const block = Math.floor(row / BLOCK_ROWS)
    const cache = blocks.current
    if (!cache.has(block)) {
      cache.set(block, undefined)
      const oldest = cache.keys().next().value
      if (cache.size > MAX_CACHED_BLOCKS && oldest !== undefined) cache.delete(oldest)
      send(worker.current, { kind: 'rows', from: block * BLOCK_ROWS, to: (block + 1) * BLOCK_ROWS })
    }
    return cache.get(block)?.[row % BLOCK_ROWS]
  }, [])

  const find = useCallback((query: string) => {
    if (query === '') setMatches(undefined)
    else send(worker.current, { kind: 'find', query })
  }, [])

  return {
    status,
    matches,
    rowAt,
    find,
    cancel: () => {
      worker.current?.terminate()
      setStatus({ kind: 'canceled' })
    },
    load: (url: string) => {
      setStatus({ kind: 'loading' })
      setSource({ url, size })
    },
  }
}

function send(worker: Worker | undefined, request: WorkerRequest) {
  worker?.postMessage(request, { transfer: [] })
}
