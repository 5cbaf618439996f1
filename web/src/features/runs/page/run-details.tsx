import type { applySchema } from '@groundstate/contract/plans'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Download, LifeBuoy } from 'lucide-react'
import { apiPath, getData } from '../../../api/client.ts'
import { Button, buttonClass } from '../../../components/button.tsx'
import { Card, DescriptionList } from '../../../components/card.tsx'
import { CopyCurl } from '../../../components/copy-curl.tsx'
import { CopyButton } from '../../../components/copy.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
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
        {configuration?.attributes.status === 'uploaded' && (
          <a
            href={apiPath(`/configuration-versions/${configuration.id}/download`)}
            download={`${configuration.id}.tar.gz`}
            className={buttonClass({ kind: 'quiet' })}
          >
            <Download size={16} />
            Download configuration
          </a>
        )}
        {apply?.attributes.status === 'errored' && <ErroredState applyId={apply.id} />}
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

/** Downloads the state that the engine could not store; nothing if there is none. */
function ErroredState({ applyId }: { applyId: string }) {
  // Of the run's includes, an apply has no link to it.
  const { data: apply } = useQuery({
    queryKey: ['applies', applyId],
    queryFn: async () => getData<DocumentOnWire<typeof applySchema>>(`/applies/${applyId}`),
  })
  const hasState = apply?.links['errored-state'] !== undefined
  const download = useMutation({
    mutationFn: async () => {
      const response = await fetch(apiPath(`/applies/${applyId}/errored-state`))
      if (!response.ok) throw new Error(`The server responded with status ${response.status}.`)
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await response.blob())
      link.download = 'errored.tfstate'
      link.click()
      return URL.revokeObjectURL(link.href)
    },
    onError: ({ message }) => toast({ text: message, tone: 'bad' }),
  })
  return (
    hasState && (
      <Button
        kind="quiet"
        icon={LifeBuoy}
        label="Recover unsaved state"
        isPending={download.isPending}
        onClick={() => download.mutate()}
      />
    )
  )
}
