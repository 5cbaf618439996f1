import { useEffect, useRef, useState } from 'react'
import { ErrorNote } from '../../components/feedback.tsx'

const CHUNK = 65_536
const POLL_MS = 700
const STX = '\u0002'
const ETX = '\u0003'

/**
 * Follows a log from its start to the end marker, chunk by chunk. Each answer about the phase signs a new `url`, so
 * only the first is used; another log needs another `key`.
 */
export function Log({ url: latestUrl }: { url: string }) {
  const [url] = useState(latestUrl)
  const [text, setText] = useState('')
  const [isWhole, setIsWhole] = useState(false)
  const [error, setError] = useState<Error>()
  const end = useRef<HTMLDivElement>(null)

  useEffect(() => {
    const stop = new AbortController()
    const onText = (more: string) => setText((before) => before + more)
    const onEnd = () => setIsWhole(true)
    void follow(url, stop.signal, { onText, onEnd }).catch((cause: unknown) => {
      if (!stop.signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)))
    })
    return () => {
      stop.abort()
      setText('')
      setIsWhole(false)
    }
  }, [url])

  useEffect(() => {
    // Recent browsers return a promise, which React would take for a cleanup function.
    if (text !== '') end.current?.scrollIntoView({ block: 'nearest' })
  }, [text])

  if (error) return <ErrorNote error={error} />
  const empty = isWhole ? 'There was no output.' : 'Waiting for output…'
  return (
    <pre className="max-h-[32rem] overflow-auto rounded-md bg-slate-950 p-4 font-mono text-xs leading-relaxed text-slate-200">
      {text === '' ? empty : text.split('\n').map(readable).join('\n')}
      <div ref={end} />
    </pre>
  )
}

type Listener = { onText: (text: string) => void; onEnd: () => void }

async function follow(url: string, signal: AbortSignal, { onText, onEnd }: Listener) {
  const decoder = new TextDecoder()
  for (let offset = 0; !signal.aborted;) {
    const response = await fetch(`${new URL(url).pathname}?limit=${CHUNK}&offset=${offset}`, { signal })
    if (!response.ok) throw new Error(`the log can't be read: the server answered ${response.status}`)
    const bytes = new Uint8Array(await response.arrayBuffer())
    offset += bytes.length
    const text = decoder.decode(bytes, { stream: true })
    onText(text.replaceAll(STX, '').replaceAll(ETX, ''))
    if (text.endsWith(ETX)) return onEnd()
    if (bytes.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The message of a line of structured output, without colours. */
function readable(line: string) {
  if (line.startsWith('{')) {
    try {
      const { '@message': message } = JSON.parse(line) as { '@message'?: string }
      if (message !== undefined) return message
    } catch {
      // The last line may be incomplete: it is shown unparsed until the rest arrives.
    }
  }
  // oxlint-disable-next-line no-control-regex -- colour codes start with the escape character
  return line.replace(/\u001b\[[0-9;]*m/g, '')
}
