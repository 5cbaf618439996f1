import { Card, DescriptionList } from '../../../components/card.tsx'
import { CopyCurl } from '../../../components/copy-curl.tsx'
import { CopyButton } from '../../../components/copy.tsx'
import { exactTime } from '../../../components/time.tsx'
import type { RunDocument } from '../run.ts'

/** Agent and engine of the run, and its identifiers. */
export function RunDetails({ document: { run, plan, apply, configuration } }: { document: RunDocument }) {
  const { attributes } = run
  const execution = apply?.attributes['execution-details'] ?? plan?.attributes['execution-details']
  const agent =
    execution?.mode === 'agent' ? (execution['agent-name'] ?? execution['agent-id']) : execution && 'Built-in'
  return (
    <Card title="Details">
      <DescriptionList
        facts={[
          ['Engine', <code key="engine">{attributes['engine-version']}</code>],
          ['Agent', agent],
          ['Agent pool', execution?.mode === 'agent' ? execution['agent-pool-name'] : undefined],
          ['Created', exactTime(attributes['created-at'])],
          ['Run ID', <Identifier key="run" id={run.id} />],
          ['Configuration', configuration && <Identifier key="configuration" id={configuration.id} />],
        ]}
      />
      <div className="mt-2 -ml-3">
        <CopyCurl path={`/runs/${run.id}`} />
      </div>
    </Card>
  )
}

function Identifier({ id }: { id: string }) {
  return (
    <span className="flex items-center gap-1">
      <code className="min-w-0 text-xs">{id}</code>
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  )
}
