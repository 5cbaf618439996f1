import { Link } from '@tanstack/react-router'
import { Plus, Unplug, Zap } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Picker } from '../../components/picker.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { findWorkspaces } from '../workspaces/sharing-settings.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { ChainCard } from './chain-card.tsx'
import { type RunTrigger, useAddTrigger, useCircle, useRemoveTrigger, useRunTriggers } from './run-triggers.ts'
import { TriggerSettings } from './trigger-settings.tsx'

/** The server takes no more sources for one workspace. */
const MAX_SOURCES = 20

/** Which applies start runs here, and where the applies of this workspace lead on. */
export function TriggersTab() {
  const { organization, workspace } = useOpenWorkspace()
  const inbound = useRunTriggers(workspace.id, 'inbound')
  const [page, setPage] = useState(1)
  const outbound = useRunTriggers(workspace.id, 'outbound', page)
  const isPossible = (inbound.data?.data.length ?? 0) > 0 && (outbound.data?.data.length ?? 0) > 0
  const circle = useCircle(organization, workspace.id, isPossible)

  const failure = failureOf(inbound, outbound)
  if (failure) return <ErrorNote {...failure} />
  if (!inbound.data || !outbound.data) return <Skeleton label="Loading the triggers" />
  const sources = inbound.data.data
  const destinations = outbound.data.data
  const add = workspace.attributes.permissions['can-update'] && <AddSource sources={sources} />
  if (sources.length === 0 && destinations.length === 0)
    return (
      <EmptyState icon={Zap} title="No trigger leads here or on from here" actions={add}>
        <p>
          A run trigger lets each apply in one workspace, the source, start a run in another: the network changes, and
          what builds on it plans again.
        </p>
        {!add && <p>To add one takes admin access to the workspace.</p>}
      </EmptyState>
    )
  return (
    <div className="space-y-4">
      {circle.length > 0 && (
        <Notice tone="warn">
          This workspace is in a circle with {circle.join(', ')}: such a chain ends after 25 runs. One workspace that
          applies by hand, or only on changed outputs, brings it to rest.
        </Notice>
      )}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="Source workspaces" about="Each apply in one of these starts a run here." actions={add} isFlush>
          <TriggerList triggers={sources} none="None: runs here are started by users and CLIs.">
            {(trigger) => <Source key={trigger.id} trigger={trigger} />}
          </TriggerList>
        </Card>
        <Card title="Destination workspaces" about="Each apply here starts a run in these." isFlush>
          <TriggerList
            triggers={destinations}
            none="None. A trigger is added at the workspace in which runs are to start."
          >
            {(trigger) => (
              <li key={trigger.id} className="flex items-center gap-3 px-4 py-2">
                <TriggersLink workspace={trigger.attributes['workspace-name']} />
              </li>
            )}
          </TriggerList>
          <div className="px-4 pb-3 empty:hidden">
            <Pager pagination={outbound.data.meta.pagination} onPage={setPage} />
          </div>
        </Card>
      </div>
      {sources.length > 0 && <TriggerSettings />}
      <ChainCard />
    </div>
  )
}

function TriggerList({
  triggers,
  none,
  children,
}: {
  triggers: readonly RunTrigger[]
  none: string
  children: (trigger: RunTrigger) => ReactNode
}) {
  if (triggers.length === 0) return <p className="px-4 pb-4 text-dim">{none}</p>
  return <ul className="divide-y divide-line border-t border-line">{triggers.map(children)}</ul>
}

function TriggersLink({ workspace }: { workspace: string }) {
  const { organization } = useOpenWorkspace()
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/triggers"
      params={{ organization, workspace }}
      className="min-w-0 flex-1 font-medium hover:underline"
    >
      {workspace}
    </Link>
  )
}

function Source({ trigger }: { trigger: RunTrigger }) {
  const { workspace } = useOpenWorkspace()
  const remove = useRemoveTrigger(workspace.id)
  const { name, permissions } = workspace.attributes
  const source = trigger.attributes['sourceable-name']
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <TriggersLink workspace={source} />
      <span className="text-dim max-sm:hidden">
        since <RelativeTime at={trigger.attributes['created-at']} />
      </span>
      {permissions['can-update'] && (
        <Confirm
          label="Remove"
          icon={Unplug}
          size="small"
          title={`Remove the trigger from ${source}?`}
          consequence={`An apply in ${source} no longer starts a run in ${name}.`}
          action="Remove the trigger"
          onConfirm={async () => {
            await remove.mutateAsync(trigger.id)
            toast({ text: `The trigger from ${source} is removed` })
          }}
        />
      )}
    </li>
  )
}

function AddSource({ sources }: { sources: readonly RunTrigger[] }) {
  const { organization, workspace } = useOpenWorkspace()
  const add = useAddTrigger(workspace.id)
  const known = new Set(sources.map(({ relationships }) => relationships.sourceable.data?.id))
  return (
    <div>
      <Picker
        label="Add a source"
        icon={Plus}
        size="small"
        placeholder="Name of a workspace"
        reason={
          sources.length >= MAX_SOURCES ? `a workspace has at most ${MAX_SOURCES} sources: remove one first` : undefined
        }
        about={['workspaces', organization, 'sources of', workspace.id, known.size]}
        load={async (text, signal) => {
          const found = await findWorkspaces({ organization, without: workspace.id }, text, signal)
          return found.filter(({ value }) => !known.has(value))
        }}
        onChoose={({ value, text }) =>
          add.mutate(value, { onSuccess: () => toast({ text: `Each apply in ${text} starts a run here now` }) })
        }
      />
      {add.error && (
        <div className="mt-2 max-w-md text-left">
          <ErrorNote error={add.error} />
        </div>
      )}
    </div>
  )
}
