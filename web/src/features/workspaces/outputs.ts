import { printExact } from '@groundstate/contract/exact-json'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import { useMutation, useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

export type Output = Wire<typeof stateVersionOutputSchema>

/** The outputs of the current state. Values that are sensitive are withheld. */
export function useCurrentOutputs(workspaceId: string) {
  return useQuery({
    queryKey: ['outputs', workspaceId],
    queryFn: async () =>
      (
        await get<PageOnWire<typeof stateVersionOutputSchema>>(
          `/workspaces/${workspaceId}/current-state-version-outputs`,
        )
      ).data,
  })
}

/** Reads the value of one sensitive output. It is kept by what shows it, and nowhere else. */
export function useRevealedOutput() {
  return useMutation({
    gcTime: 0,
    mutationFn: async (id: string) =>
      (await get<DocumentOnWire<typeof stateVersionOutputSchema>>(`/state-version-outputs/${id}`)).data.attributes
        .value,
  })
}

/** A value as people read it: a text as it is, anything else as JSON. */
export function outputText(value: unknown): string {
  return typeof value === 'string' ? value : printExact(value, 2)
}

/**
 * The type of an output as the engine writes it: `list(string)` of `["list", "string"]`. The JSON type where the state
 * does not say more.
 */
export function typeText(detailed: unknown, fallback: string): string {
  if (typeof detailed === 'string') return detailed
  if (!Array.isArray(detailed)) return fallback
  const [kind, inner] = detailed as [unknown, unknown]
  if (typeof kind !== 'string') return fallback
  // All attributes of an object in a cell would hide the others.
  if (kind === 'object' || kind === 'tuple') return kind
  return `${kind}(${typeText(inner, 'any')})`
}

const SHORT_LINES = 4
const SHORT_CHARS = 300

/** The beginning of a text that is too long for a row of a table; undefined for one that fits. */
export function shortened(text: string): { start: string; lines: number } | undefined {
  const lines = text.split('\n')
  const start = lines.slice(0, SHORT_LINES).join('\n').slice(0, SHORT_CHARS)
  return start.length === text.length ? undefined : { start, lines: lines.length }
}
