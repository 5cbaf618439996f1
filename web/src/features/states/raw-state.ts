import { useCallback, useEffect, useRef, useState } from 'react'
import type { Message, Question } from './raw-state-messages.ts'

/** Rows are asked for in blocks, and the blocks around those in sight are kept. */
const BLOCK = 200
const KEPT_BLOCKS = 40

export type Row = { text: string; number: number }
export type Found = { query: string; rows: Uint32Array }

type Opening =
  | { kind: 'loading' }
  /** The first rows are there, or all of them. */
  | { kind: 'open'; rows: number; lines: number; received: number; isWhole: boolean }
  | { kind: 'failed'; detail: string; isGone: boolean }
  | { kind: 'canceled' }

/** A raw state that a worker reads and searches. `url` is read once: it is another one in each response of the API. */
export function useRawState({ url, size }: { url: string; size: number }) {
  const [source, setSource] = useState({ url, size })
  const [opening, setOpening] = useState<Opening>({ kind: 'loading' })
  const [found, setFound] = useState<Found>()
  const [, draw] = useState(0)
  const worker = useRef<Worker>(undefined)
  const blocks = useRef(new Map<number, Row[] | undefined>())

  useEffect(() => {
    const own = new Worker(new URL('./raw-state.worker.ts', import.meta.url), { type: 'module' })
    worker.current = own
    const known = blocks.current
    own.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if (data.kind === 'opened') {
        // Blocks at the end were read before they were full.
        for (const [block, rows] of known) if ((rows?.length ?? 0) < BLOCK) known.delete(block)
        setOpening({ ...data, kind: 'open' })
      } else if (data.kind === 'failed')
        setOpening({ kind: 'failed', detail: data.detail, isGone: data.status === 404 })
      else if (data.kind === 'found') setFound({ query: data.query, rows: data.rows })
      else {
        const rows = data.texts.map((text, at) => ({ text, number: data.numbers[at] ?? 0 }))
        known.set(data.from / BLOCK, rows)
        draw((count) => count + 1)
      }
    })
    own.addEventListener('error', () =>
      setOpening({ kind: 'failed', detail: 'the state could not be read here', isGone: false }),
    )
    ask(own, { kind: 'open', ...source, url: new URL(source.url, document.baseURI).href })
    return () => {
      own.terminate()
      known.clear()
    }
  }, [source])

  /** The row, once it is there; otherwise it is asked for, and the caller drawn again when it came. */
  const rowAt = useCallback((row: number): Row | undefined => {
    const block = Math.floor(row / BLOCK)
    const known = blocks.current
    if (!known.has(block)) {
      known.set(block, undefined)
      const oldest = known.keys().next().value
      if (known.size > KEPT_BLOCKS && oldest !== undefined) known.delete(oldest)
      ask(worker.current, { kind: 'rows', from: block * BLOCK, to: (block + 1) * BLOCK })
    }
    return known.get(block)?.[row % BLOCK]
  }, [])

  const find = useCallback((query: string) => {
    if (query === '') setFound(undefined)
    else ask(worker.current, { kind: 'find', query })
  }, [])

  return {
    opening,
    found,
    rowAt,
    find,
    cancel: () => {
      worker.current?.terminate()
      setOpening({ kind: 'canceled' })
    },
    retry: () => {
      setOpening({ kind: 'loading' })
      setSource({ url, size })
    },
  }
}

function ask(worker: Worker | undefined, question: Question) {
  worker?.postMessage(question, { transfer: [] })
}
