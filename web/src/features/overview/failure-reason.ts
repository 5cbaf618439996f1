import { useQuery } from '@tanstack/react-query'
import { ownPath } from '../../api/client.ts'
import type { FailedRun } from './overview.ts'

/** How much of a log is searched, in bytes. An engine that fails says why within its first screens, or late in a long apply. */
const SEARCHED_BYTES = 128 * 1024

/** An agent's generic message for a failed engine: the log has the details. */
const BARE = /ended with exit code \d+$/

/** The first line of why a run has failed; null when only its log knows, undefined while that is read. */
export function useFailureReason({ id, attributes, logUrl }: FailedRun): string | null | undefined {
  const reported = attributes['error-message']
  const isInLog = logUrl !== undefined && (reported === null || BARE.test(reported))
  const log = useQuery({
    // The log of a failed run no longer changes.
    queryKey: ['logs', id, 'failure'],
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isInLog,
    queryFn: async ({ signal }) => {
      const response = await fetch(`${ownPath(logUrl ?? '')}?offset=0&limit=${SEARCHED_BYTES}`, { signal })
      return response.ok ? errorInLog(await response.text()) : null
    },
  })
  const fallback = reported === null ? null : firstLine(reported)
  if (!isInLog || log.isError) return fallback
  return log.data === null ? fallback : log.data
}

function firstLine(text: string) {
  return text.trim().split('\n', 1)[0] ?? ''
}

// oxlint-disable-next-line no-control-regex -- colours are control sequences
const COLOURS = /\u001B\[[\d;]*m/g

/** The first error that an engine has logged, as text or as JSON lines; null when there is none. */
export function errorInLog(log: string): string | null {
  const lines = log.replaceAll(COLOURS, '').split('\n')
  for (const [index, line] of lines.entries()) {
    const found = line.startsWith('{') ? errorInJson(line) : errorInText(lines.slice(index, index + 4))
    if (found !== undefined) return found
  }
  return null
}

/** The error that the first of these lines begins, with the place that the next ones name. */
function errorInText([line = '', ...next]: readonly string[]) {
  const summary = /Error: (.+)/.exec(line)?.[1]?.trim()
  if (summary === undefined) return undefined
  const place = next.map((text) => / on (\S+) line (\d+)/.exec(text)).find((found) => found !== null)
  return place ? `${summary} (${place[1]} line ${place[2]})` : summary
}

/** The summary of a diagnostic, with the place that it is about. */
function errorInJson(line: string) {
  if (!line.includes('"error"')) return undefined
  try {
    const { '@level': level, '@message': message, diagnostic } = JSON.parse(line) as EngineLine
    if (level !== 'error') return undefined
    const summary = diagnostic?.summary ?? message?.replace(/^Error: /, '')
    const range = diagnostic?.range
    return range?.filename !== undefined && range.start?.line !== undefined
      ? `${summary} (${range.filename} line ${range.start.line})`
      : summary
  } catch {
    // A line that was cut, or that a provisioner has printed.
    return undefined
  }
}

type EngineLine = {
  '@level'?: string
  '@message'?: string
  diagnostic?: { summary?: string; range?: { filename?: string; start?: { line?: number } } }
}
