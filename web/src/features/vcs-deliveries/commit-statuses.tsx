import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { commitStatusDeliverySchema } from '@groundstate/contract/vcs-deliveries'
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleX, Send } from 'lucide-react'
import { useState } from 'react'
import { get, queryString, request } from '../../api/client.ts'
import { keepWithin, useChange } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, loaded } from '../../components/feedback.tsx'
import { FoldedItem } from '../../components/folded-item.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { Exchange } from '../run-tasks/exchange.tsx'
import { shortSha } from '../runs/run-commit.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'

type StatusDelivery = Wire<typeof commitStatusDeliverySchema>

const STATUSES = 'commit-status-deliveries'

function useStatusDeliveries(organization: string, workspaceId: string, page: number | undefined) {
  const query = queryString({ 'page[number]': page, 'page[size]': 10 })
  return useQuery({
    queryKey: [STATUSES, organization, workspaceId, query],
    meta: { dependsOn: ['runs'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof commitStatusDeliverySchema>>(
        `/workspaces/${workspaceId}/commit-status-deliveries${query}`,
        signal,
      ),
    placeholderData: keepWithin(organization),
  })
}

/** The requests that set statuses of commits, latest first; nothing where there are none. */
export function CommitStatuses() {
  const { organization, workspace } = useOpenWorkspace()
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(useStatusDeliveries(organization, workspace.id, page), { rows: 2 })
  if (!data) return fallback
  if (data.data.length === 0 && page === undefined) return null
  return (
    <section aria-label="Commit statuses" className="space-y-3 pt-3">
      <h2 className="text-lg font-semibold">Commit statuses</h2>
      <p className="max-w-3xl text-dim">What the host was sent about commits, and its responses.</p>
      <ol className="divide-y divide-line rounded-lg border border-line bg-paper">
        {data.data.map((delivery) => (
          <StatusItem key={delivery.id} delivery={delivery} />
        ))}
      </ol>
      <Pager pagination={data.meta.pagination} onPage={setPage} />
    </section>
  )
}

function StatusItem({ delivery: { attributes, relationships } }: { delivery: StatusDelivery }) {
  const [isOpen, setIsOpen] = useState(false)
  const { workspace } = useOpenWorkspace()
  const { response, request, error, 'commit-sha': sha } = attributes
  const isAccepted = attributes.status === 'succeeded'
  const run = relationships.run.data
  return (
    <FoldedItem
      isOpen={isOpen}
      onToggle={() => setIsOpen(!isOpen)}
      label={
        <>
          <Badge
            tone={isAccepted ? 'good' : 'bad'}
            icon={isAccepted ? CircleCheck : CircleX}
            text={response ? `response ${response.status}` : 'no response'}
          />
          <span className="sr-only">, commit</span>
          <code title={sha}>{shortSha(sha)}</code>
        </>
      }
      content={() => (
        <div className="space-y-3">
          <Exchange title={`commit ${shortSha(sha)}`} {...{ request, response, error }} />
          {run && <ResendButton runId={run.id} />}
        </div>
      )}
    >
      <span className="min-w-0 flex-1 basis-40 text-dim">
        {run ? (
          <RunLink workspace={workspace.attributes.name} run={run} className="hover:underline">
            {attributes.kind === 'plan' ? 'plan of a pull request' : 'run'}
          </RunLink>
        ) : (
          'no run'
        )}
      </span>
      <RelativeTime at={attributes['sent-at']} className="text-dim" />
    </FoldedItem>
  )
}

function ResendButton({ runId }: { runId: string }) {
  const { organization, workspace } = useOpenWorkspace()
  const resend = useChange(
    async () => request('POST', `/runs/${runId}/actions/resend-commit-status`),
    [STATUSES, organization],
  )
  const mayResend = workspace.attributes.permissions['can-queue-apply']
  return (
    <>
      <Button
        size="small"
        icon={Send}
        label="Send again"
        reason={mayResend ? undefined : 'requires permission to apply runs of the workspace'}
        isPending={resend.isPending}
        onClick={() => resend.mutate(undefined, { onSuccess: () => toast({ text: 'The status is sent again' }) })}
      />
      {resend.error && <ErrorNote error={resend.error} />}
    </>
  )
}
