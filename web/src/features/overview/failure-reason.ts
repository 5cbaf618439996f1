import { useQuery } from '@tanstack/react-query'
import { ownPath } from '../../api/client.ts'
import type { FailedRun } from './overview.ts'

/** How much of a log is searched, in bytes: errors appear early, except after a long apply. */
const SEARCHED_BYTES = 128 * 1024

/** An agent's generic message for a failed engine; the details are in the log. */
const GENERIC = /ended with exit code \d+$/

/** The first line of a run's error; undefined while its log is read, null if neither contains one. */
export function useFailureReason({ id, attributes, logUrl }: FailedRun): string | null | undefined {
  const reported = attributes['error-message']
  const isInLog = logUrl !== undefined && (reported === null || GENERIC.test(reported))
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
  const fallback = reported === null ? null : (reported.trim().split('\n', 1)[0] ?? '')
  return !isInLog || log.isError || log.data === null ? fallback : log.data
}

// oxlint-disable-next-line no-control-regex -- colours are control sequences
const COLOURS = /\u001B\[[\d;]*m/g

/** The first error in a log of text or JSON lines, if any, with its location: "Invalid index (main.tf line 12)". */
export function errorInLog(log: string): string | null {
  const lines = log.replaceAll(COLOURS, '').split('\n')
  for (const [index, line] of lines.entries()) {
    const error = line.startsWith('{') ? errorInJson(line) : errorInText(lines.slice(index, index + 4))
    if (error !== undefined) return error
  }
  return null
}

/** The error that starts in the first line; the location follows. */
function errorInText([line = '', ...next]: readonly string[]) {
  const summary = /Error: (.+)/.exec(line)?.[1]?.trim()
  if (summary === undefined) return undefined
  const place = next.map((text) => / on (\S+) line (\d+)/.exec(text)).find((match) => match !== null)
  return place ? `${summary} (${place[1]} line ${place[2]})` : summary
}

type EngineLine = {
  '@level'?: string
  '@message'?: string
  diagnostic?: { summary?: string; range?: { filename?: string; start?: { line?: number } } }
}

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
    // Truncated, or printed by a provisioner.
    return undefined
  }
}
