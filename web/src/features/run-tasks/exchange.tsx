import { parseExact, printExact } from '@groundstate/contract/exact-json'
import { CopyButton } from '../../components/copy.tsx'
import { Pane } from '../../components/pane.tsx'
import type { TaskTest } from './run-tasks.ts'

type ExchangeProps = {
  /** Names the exchange for screen readers: "attempt 2". */
  title: string
  request: { method: string; url: string; headers: Headers; body: string } | null
  response: TaskTest['response']
  error: string | null
}

/** The request to a receiver and its response, or why there is none. */
export function Exchange({ title, request, response, error }: ExchangeProps) {
  return (
    <div className="space-y-3">
      {error !== null && <p className="text-bad">{error}</p>}
      {request && <Message title={`${request.method} ${request.url}`} label={`Request of ${title}`} {...request} />}
      {response && !response['is-withheld'] && (
        <Message title={`Response ${response.status}`} label={`Response to ${title}`} {...response} />
      )}
      {response?.['is-truncated'] && !response['is-withheld'] && <p className="text-dim">Body truncated</p>}
      {request && response?.['is-withheld'] && (
        <p className="text-dim">
          The response came from a private address: only site administrators can read its headers and body.
        </p>
      )}
    </div>
  )
}

type Headers = Readonly<Record<string, string | readonly string[]>>
type MessageProps = { title: string; label: string; headers: Headers; body: string }

function Message({ title, label, headers, body }: MessageProps) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
  const text = [...lines, '', pretty(body)].join('\n').trimEnd()
  return (
    <div>
      <div className="flex items-center justify-between gap-2">
        <p className="min-w-0 font-medium">{title}</p>
        <CopyButton text={body} label={`Copy the body: ${label}`} />
      </div>
      <Pane label={label} className="max-h-80 rounded-md border border-line bg-ground px-3 py-2">
        <pre className="font-mono text-[0.9285rem] whitespace-pre-wrap">{text}</pre>
      </Pane>
    </div>
  )
}

/** Indents JSON; returns any other text unchanged. */
function pretty(body: string) {
  try {
    return printExact(parseExact(body), 2)
  } catch {
    return body
  }
}
