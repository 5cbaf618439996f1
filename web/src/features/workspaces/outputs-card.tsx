import { printExact } from '@groundstate/contract/exact-json'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { stateVersionOutputSchema } from '@groundstate/contract/state-version-outputs'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Eye, EyeOff } from 'lucide-react'
import { ApiError, getData } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CollapsedText } from '../../components/collapsed-text.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { WrappedName } from '../../components/wrapped-name.tsx'

type Output = Wire<typeof stateVersionOutputSchema>

/** Columns of a table of outputs; each sensitive value is revealed separately. */
export const OUTPUT_COLUMNS: readonly Column<Output>[] = [
  {
    header: 'Name',
    className: 'w-px min-w-28 max-w-64 align-top max-md:max-w-32',
    cell: ({ attributes }) => <WrappedName text={attributes.name} />,
  },
  {
    header: 'Type',
    className: 'hidden md:table-cell w-px align-top whitespace-nowrap',
    cell: ({ attributes }) => (
      <span className="text-dim">{typeText(attributes['detailed-type'], attributes.type)}</span>
    ),
  },
  { header: 'Value', className: 'align-top', cell: (output) => <OutputCell output={output} /> },
]

export function OutputsCard({ workspaceId }: { workspaceId: string }) {
  const outputs = useQuery({
    queryKey: ['outputs', workspaceId],
    queryFn: async () =>
      getData<PageOnWire<typeof stateVersionOutputSchema>>(`/workspaces/${workspaceId}/current-state-version-outputs`),
  })
  const failure = failureOf(outputs)
  const rows = failure ? undefined : outputs.data
  if (rows?.length === 0)
    return (
      <Card title="Outputs">
        <p className="text-dim">
          The current state has no outputs. Declare one with an <code>output</code> block in the configuration.
        </p>
      </Card>
    )
  return (
    <Card title="Outputs" isFlush={rows !== undefined}>
      {outputs.isPending && <Skeleton rows={3} label="Loading the outputs" />}
      {failure && <OutputsError {...failure} />}
      {rows && (
        <div className="[&>div]:rounded-none [&>div]:border-x-0 [&>div]:border-b-0">
          <Table label="Outputs" columns={OUTPUT_COLUMNS} rows={rows} />
        </div>
      )}
    </Card>
  )
}

function OutputsError({ error, onRetry }: { error: Error; onRetry: () => void }) {
  if (!(error instanceof ApiError) || error.status !== 503) return <ErrorNote error={error} onRetry={onRetry} />
  return (
    <div className="flex flex-wrap items-center gap-3 text-dim">
      Processing the state…
      <Button label="Try again" size="small" onClick={onRetry} />
    </div>
  )
}

function OutputCell({ output }: { output: Output }) {
  // A mutation, so that the value is not cached.
  const reveal = useMutation({
    mutationFn: async (id: string) => {
      const path = `/state-version-outputs/${id}`
      return (await getData<DocumentOnWire<typeof stateVersionOutputSchema>>(path)).attributes.value
    },
  })
  const { name, sensitive, value } = output.attributes
  if (!sensitive) return <OutputValue name={name} value={value} />
  if (reveal.data === undefined)
    return (
      <div className="space-y-1">
        <div className="flex flex-wrap items-center gap-2">
          <Badge text="sensitive" />
          <Button
            label="Reveal"
            size="small"
            icon={Eye}
            isPending={reveal.isPending}
            aria-label={`Reveal ${name}`}
            onClick={() => reveal.mutate(output.id)}
          />
        </div>
        {reveal.error && <ErrorNote error={reveal.error} />}
      </div>
    )
  return (
    <div className="flex items-start gap-2">
      <OutputValue name={name} value={reveal.data} />
      <Button
        label="Hide"
        size="small"
        kind="quiet"
        icon={EyeOff}
        aria-label={`Hide ${name}`}
        onClick={() => reveal.reset()}
      />
    </div>
  )
}

function OutputValue({ name, value }: { name: string; value: unknown }) {
  const text = outputText(value)
  return (
    <div className="flex min-w-0 flex-1 items-start gap-2">
      <div className="min-w-0 flex-1">
        <CollapsedText text={text} maxLines={4} />
      </div>
      <CopyButton text={text} label={`Copy ${name}`} />
    </div>
  )
}

export function outputText(value: unknown): string {
  return typeof value === 'string' ? value : printExact(value, 2)
}

/** The type of an output in the engine's notation: `list(string)` for `["list", "string"]`. */
export function typeText(detailed: unknown, fallback: string): string {
  if (typeof detailed === 'string') return detailed
  if (!Array.isArray(detailed)) return fallback
  const [kind, inner] = detailed as [unknown, unknown]
  if (typeof kind !== 'string') return fallback
  // The attributes of an object would not fit in a cell.
  if (kind === 'object' || kind === 'tuple') return kind
  return `${kind}(${typeText(inner, 'any')})`
}
